// A client of Socket.IO of an older version: node old-client.cjs PACKAGE URL KEY. It prints what a tool would show.
const [library, url, apiKey] = process.argv.slice(2);
const io = require(library);
const connect = typeof io === "function" ? io : io.io;
const socket = connect(url, { auth: { apiKey }, query: { apiKey } });
const end = text => {
  process.stdout.write(`${text}\n`);
  process.exit(0);
};
socket.on("error", error => end(`error: ${error.message ?? error}`));
socket.on("connect_error", error => end(`connect_error: ${error.message}`));
socket.on("connect", () =>
  socket.emit("svc", "repo", "list", {}, ({ errors }) => end(errors.length === 0 ? "answered" : errors[0].message)),
);
