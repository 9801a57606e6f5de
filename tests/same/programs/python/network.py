# Sockets work on localhost, and nothing else can be reached.
import socket
import threading
import urllib.error
import urllib.request

server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"hello")).start()
with socket.create_connection(("localhost", server.getsockname()[1])) as s:
    print(s.recv(100))
six = socket.create_server(("::1", 0), family=socket.AF_INET6)
print(six.getsockname()[0])
a, b = socket.socketpair()
a.sendall(b"pair")
print(b.recv(10))
print(socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM))
print(socket.getservbyname("http"), socket.getprotobyname("tcp"))
print(socket.gethostbyname("localhost"), socket.if_nameindex())
for where in (("192.0.2.1", 80), ("127.0.0.1", 1), ("name.invalid", 80),
              ("2001:db8::1", 80)):
    try:
        socket.create_connection(where, timeout=5)
    except OSError as e:
        print(where, type(e).__name__, e)
try:
    urllib.request.urlopen("http://name.invalid/")
except urllib.error.URLError as e:
    print(e)
try:
    socket.create_server(("0.0.0.0", 80))
except OSError as e:
    print(e)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    udp.sendto(b"x", ("192.0.2.1", 9))
except OSError as e:
    print(e)
try:
    socket.socket(socket.AF_INET, socket.SOCK_RAW)
except OSError as e:
    print(e)
