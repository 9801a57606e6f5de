// Standard input flows through a transform to standard output.
const { Transform, pipeline } = require('stream');
pipeline(process.stdin, new Transform({
	transform(chunk, encoding, done) {
		done(null, chunk.toString().toUpperCase());
	},
}), process.stdout, (e) => console.error('done', e));
