// node:test and its assertions, with the results as events.
import { describe, it } from 'node:test';
import assert from 'node:assert';
describe('group', () => {
	it('passes', () => assert.ok(true));
	it('skips', { skip: true }, () => {});
	it('fails', () => assert.equal(1, 2));
});
