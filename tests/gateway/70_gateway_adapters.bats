#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The packages of fsd/adapters on fake machines, without a framework: what they write into
# config.json. adapters.sh has the rest, with the frameworks.

load ../lib/common

ADAPTERS=$TESTS/../fsd/adapters

setup() { mount_start --network-allow api.example.org --network-allow '*.wheels.example'; }
teardown() { mount_done; }

@test "Python's package gives jobs and sandboxes the servers that are named, none by default" {
	FSD_MOUNT=$MNT PYTHONPATH=$ADAPTERS/python run -0 bounded 30 /usr/bin/python3 -B - <<-'PY'
		import asyncio
		from fsd_sandbox import AsyncMount, FsdError, Mount

		mount, rules = Mount(), ["api.example.org", "a.wheels.example:443"]
		keys = {"language": "bash", "memory_mb": 64}
		assert mount.run("out hi", **keys).raw["network"] is None
		for network in rules, True, {"deny": ["api.example.org"]}:
		    job = mount.run("out hi", network=network, **keys)
		    assert job.stdout == "hi\n" and job.raw["network"]["connections"] == []
		job = asyncio.run(AsyncMount().run("out hi", network=rules, **keys))
		assert job.raw["network"]["connections"] == []
		with mount.sandbox() as box:
		    assert box.network is None
		with mount.sandbox(network=rules) as box:
		    assert box.network == rules
		for refused in mount.run, lambda _, **keys: mount.sandbox(network=keys["network"]):
		    try:
		        refused("out hi", network=["other.example"])
		    except FsdError as e:
		        print(e)
	PY
	assert_equal "$(grep -c '"network" has "other.example", which the operator does not allow here' \
		<<<"$output")" 2
}

@test "JavaScript's package gives jobs and sandboxes the servers that are named, none by default" {
	FSD_MOUNT=$MNT ADAPTER=$ADAPTERS/js/index.mjs run -0 bounded 30 node --input-type=module - <<-'JS'
		import assert from "node:assert/strict";
		const { Mount } = await import(process.env.ADAPTER);

		const mount = new Mount(), rules = ["api.example.org", "a.wheels.example:443"];
		const keys = { language: "bash", memoryMb: 64 };
		assert.equal((await mount.run("out hi", keys)).raw.network, null);
		for (const network of [rules, true, { deny: ["api.example.org"] }]) {
			const job = await mount.run("out hi", { network, ...keys });
			assert.equal(job.stdout, "hi\n");
			assert.deepEqual(job.raw.network.connections, []);
		}
		const without = await mount.sandbox();
		assert.equal(without.network, undefined);
		await without.close();
		const box = await mount.sandbox(undefined, { network: rules });
		assert.deepEqual(box.network, rules);
		await box.close();
		const network = ["other.example"];
		const refused = { message: /"network" has "other.example", which the operator does not allow here/ };
		await assert.rejects(mount.run("out hi", { network }), refused);
		await assert.rejects(mount.sandbox(undefined, { network }), refused);
	JS
}
