"""A worker that answers every HTTP request with the status in the file `status` beside it."""

import socket
import sys
from pathlib import Path

server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = server.accept()
    with connection:
        connection.recv(4096)
        status = Path("status").read_text()
        connection.sendall(f"HTTP/1.1 {status} Word\r\nContent-Length: 0\r\n\r\n".encode())
