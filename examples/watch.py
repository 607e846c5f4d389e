"""A local tool that follows a repository: it appends each change to a file, once and in order, and continues where it was.

    python3 examples/watch.py HOME ID FILE

HOME is the folder that `repoconf daemon` prints, ID the repository's, as in `repoconf repo list`. Each line of FILE is JSON: first all values, then one change per line. The last line says
where to continue, so this tool may be killed at any time, and the daemon too.
Needs python-socketio with its client: on Debian python3-socketio, python3-requests and python3-websocket.
"""

import contextlib
import json
import os
import queue
import sys
import time
from pathlib import Path

import engineio
import socketio


class OrderedTransport(engineio.Client):
    """Handles one message after the other. By default, each gets its own thread, and a later one may overtake it."""

    def _trigger_event(self, event, *args, **options):
        return super()._trigger_event(event, *args, **{**options, "run_async": False})


class OrderedClient(socketio.Client):
    def _engineio_client_class(self):
        return OrderedTransport


def main():
    if len(sys.argv) != 4:
        sys.exit("Usage: python3 examples/watch.py HOME ID FILE")
    home, repo, file = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    with file.open("a+b") as output:
        last = last_revision(output)
        while True:
            with contextlib.closing(follow(home, repo, last)) as lines:
                for line in lines:
                    output.write(json.dumps(line).encode() + b"\n")
                    output.flush()
                    last = line["revision"]
            time.sleep(1)  # The connection was lost, or there is no daemon.


def last_revision(output):
    """The revision of the file's last line; None if there is none. Removes a line that was only written in part."""
    output.seek(0)
    lines = output.read().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        output.truncate(sum(map(len, lines[:-1])))
        lines.pop()
    return json.loads(lines[-1])["revision"] if lines else None


def follow(home, repo, last):
    """Yields what came after revision `last`, and then each change as it happens, until the connection ends."""
    client = OrderedClient(reconnection=False)
    arrived = queue.SimpleQueue()
    client.on("svc", lambda *event: arrived.put(event))
    refusals = []
    client.on("connect_error", refusals.append)

    def call(resource, operation, args):
        return client.call("svc", (resource, operation, args), timeout=10)

    try:
        # The port may have changed.
        url = json.loads((home / "daemon.json").read_text())["url"]
        api_key = os.environ.get("REPOCONF_API_KEY") or (home / "owner.key").read_text().strip()
        client.connect(url, auth={"apiKey": api_key}, wait_timeout=10)
        print(f"connected by {client.transport()}", file=sys.stderr)
        watch = {"repo": repo, "since": last, "progress": True}
        reply = None if last is None else call("config", "watch", watch)
        # At the first start, and if the history does not reach back to `last`: begin with the values.
        if reply is None or reply["errors"] and reply["errors"][0]["code"] in (1110, 1112):
            values = call("config", "list", {"repo": repo})
            if values["errors"]:
                sys.exit(values["errors"][0]["message"])
            last = values["revision"]
            yield {"repo": repo, "revision": last, "values": values["result"]}
            reply = call("config", "watch", {**watch, "since": last})
        if reply["errors"]:
            sys.exit(reply["errors"][0]["message"])
        client.start_background_task(lambda: (client.wait(), arrived.put(None)))
        for resource, event, payload in iter(arrived.get, None):
            # With "progress", the key may not see what changed up to this revision.
            if resource == "config" and event in ("changed", "progress") and payload["revision"] > last:
                last = payload["revision"]
                yield payload
    except (OSError, socketio.exceptions.SocketIOError) as error:
        reason = refusals[-1] if refusals else error
        if isinstance(reason, dict) and reason["data"]["code"] == 1100:
            sys.exit("The key is not valid, or no longer. Ask the owner for another one: repoconf key create")
        print(f"not connected: {reason}", file=sys.stderr)
    finally:
        client.disconnect()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
