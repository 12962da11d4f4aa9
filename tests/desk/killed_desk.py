"""Serves a desk in a child process, which is killed and replaced whenever a line comes in.

Run as ``python killed_desk.py RECORD SOCKET``, with the number of a socket that listens. The socket stays open, so that
browsers wait for the next child.
"""

import os
import signal
import socket
import sys

import uvicorn

from aucross.desk import Desk, create_desk
from aucross.record import Record


def serve(source, listener):
    """Serve a desk until this process is killed."""
    config = uvicorn.Config(create_desk(Desk(Record.open(source))), log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    listening = socket.socket(fileno=int(sys.argv[2]))
    while True:
        child = os.fork()
        if child == 0:
            serve(sys.argv[1], listening)
            os._exit(1)
        line = sys.stdin.readline()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if not line:
            break
