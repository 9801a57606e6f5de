# A web server in a thread answers urllib and http.client.
import http.client
import http.server
import json
import threading
import urllib.request


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.end_headers()
        self.wfile.write(json.dumps({"got": body.decode()}).encode())

    def log_message(self, text, *args):
        print("log:", text % args, flush=True)


server = http.server.ThreadingHTTPServer(("localhost", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://localhost:{server.server_port}/path?q=1"
with urllib.request.urlopen(url, data=b"body") as r:
    print(r.status, json.load(r))
c = http.client.HTTPConnection("localhost", server.server_port)
c.request("GET", "/")
print(c.getresponse().status)
server.shutdown()
