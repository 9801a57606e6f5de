// A server and fetch on the machine itself.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'net';
const server = createServer((q: IncomingMessage, r: ServerResponse): void => { r.end(JSON.stringify({ url: q.url })); });
server.listen(0, '127.0.0.1', async () => {
	const { port } = server.address() as AddressInfo;
	const body: { url: string } = await (await fetch(`http://127.0.0.1:${port}/x`)).json();
	console.log(body.url);
	server.close();
});
