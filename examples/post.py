"""A local tool: sets a field of the repository that contains a folder, and prints the value. Needs only Python's standard library.

    python3 examples/post.py HOME FOLDER [VALUE]

HOME is the folder that `repoconf daemon` prints.
"""

import http.client
import json
import os
import socket
import stat
import sys
from pathlib import Path


class Daemon(http.client.HTTPConnection):
    """A connection to the daemon's Unix socket, for any number of requests, one after the other."""

    def __init__(self, home, api_key):
        super().__init__("localhost", timeout=60)
        self.folder = home / "socket"
        # A daemon that was killed leaves its socket there, so daemon.json says which one it is.
        self.path = self.folder / Path(json.loads((home / "daemon.json").read_text())["socket"]).name
        self.headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}

    def connect(self):
        # The key is sent into this socket, so nobody else may be able to put one there.
        found = self.folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) != 0o700:
            sys.exit(f"{self.folder} must be a folder that only you can enter")
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))

    def ask(self, name, args):
        """The reply of an operation, such as config/list. If this fails, it is not known whether the operation took effect."""
        self.request("POST", f"/svc/{name}", json.dumps(args), self.headers)
        with self.getresponse() as response:
            return json.load(response)


def main():
    if len(sys.argv) < 3:
        sys.exit("Which home and folder? python3 examples/post.py HOME FOLDER [VALUE]")
    home = Path(sys.argv[1])
    path = str(Path(sys.argv[2]).resolve())
    value = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    daemon = Daemon(home, os.environ.get("REPOCONF_API_KEY") or (home / "owner.key").read_text().strip())
    for name, args in (
        ("config/set", {"path": path, "svc.timeout": value}),
        ("config/list", {"path": path, "field": "svc.timeout"}),
    ):
        reply = daemon.ask(name, args)
        for error in reply["errors"]:
            print(f"{error['code']} {error['name']}: {error['message']}", file=sys.stderr)
        if reply["errors"]:
            sys.exit(1)
    print(f"{reply['repo']}: {reply['result']['svc']['timeout']} seconds")


if __name__ == "__main__":
    main()
