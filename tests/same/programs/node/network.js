// HTTP, fetch, TCP, UDP and Unix sockets on the machine itself; nothing beyond.
const http = require('http'), net = require('net'), dns = require('dns');
const server = http.createServer((req, res) => {
	let body = '';
	req.on('data', (d) => (body += d)).on('end', () => {
		res.writeHead(201, { 'x-test': 'y' });
		res.end(`${req.method} ${req.url} ${body}`);
	});
}).listen(0, 'localhost', async () => {
	const r = await fetch(`http://localhost:${server.address().port}/p?q`, { method: 'POST', body: 'data' });
	console.log(r.status, r.headers.get('x-test'), await r.text());
	server.close();
	const u = net.createServer((s) => s.end('unix')).listen('sock', () => {
		net.connect('sock').on('data', (d) => console.log(d.toString())).on('close', () => u.close());
	});
	u.on('close', () => {
		dns.lookup('localhost', { all: true }, (e, a) => {
			console.log(e, a);
			dns.lookup('name.invalid', (e) => {
				console.log(e.code, e.syscall, e.message);
				net.connect(80, '192.0.2.1').on('error', (e) => {
					console.log(e.code, e.message);
					net.connect(1, '127.0.0.1').on('error', async (e) => {
						console.log(e.code);
						await fetch('http://name.invalid/').catch((e) => console.log(e.message, e.cause.code));
					});
				});
			});
		});
	});
});
