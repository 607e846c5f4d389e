"""A local tool: lists and sets fields of a repository through the running daemon.

    python3 examples/tool.py HOME [REPOSITORY]

HOME is the folder that `repoconf daemon` prints. Without REPOSITORY, it uses the first repository, or adds one.
Needs python-socketio with its client: on Debian python3-socketio, python3-requests and python3-websocket.
"""

import json
import os
import sys
from pathlib import Path

import socketio


def main():
    if len(sys.argv) < 2:
        sys.exit("Which home? python3 examples/tool.py HOME [REPOSITORY]")
    home = Path(sys.argv[1])
    endpoint = json.loads((home / "daemon.json").read_text())
    api_key = os.environ.get("REPOCONF_API_KEY") or (home / "owner.key").read_text().strip()

    client = socketio.Client()
    client.connect(endpoint["url"], auth={"apiKey": api_key})

    def call(resource, operation, args):
        return client.call("svc", (resource, operation, args), timeout=5)

    def show(what, reply):
        print(what)
        print("  result", json.dumps(reply["result"]))
        for error in reply["errors"]:
            print(f"  {error['code']} {error['name']}: {error['message']}")

    repositories = call("repo", "list", {})["result"]
    if len(sys.argv) > 2:
        repo = sys.argv[2]
    elif repositories:
        repo = repositories[0]["id"]
    else:
        repo = call("repo", "add", {"name": "example"})["result"]["id"]

    show("one field", call("config", "list", {"repo": repo, "field": "svc.timeout"}))
    show(
        "set several fields",
        call(
            "config",
            "set",
            {"repo": repo, "svc.timeout": 45, "svc.proxy_https": True, "svc.proxy_aliases": ["a.test", "b.test"]},
        ),
    )
    show("list without a repository", call("config", "list", {}))
    show("set a field that does not exist", call("config", "set", {"repo": repo, "svc.timeot": 1}))
    show("set without a field", call("config", "set", {"repo": repo}))
    show("list a field that does not exist", call("config", "list", {"repo": repo, "field": "svc.timeot"}))
    show("the whole scope", call("config", "list", {"repo": repo, "scope": "svc"}))
    client.disconnect()


if __name__ == "__main__":
    main()
