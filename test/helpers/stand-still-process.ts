/**
 * Loaded into a daemon's process by `--import`: measures the longest time for which its event loop was blocked, writes it to
 * standard error at SIGUSR2, and starts over. In milliseconds of processor time, which other programs do not affect, and of clock
 * time.
 */
const period = 2;
let [longest, longestByClock] = [0, 0];
let [last, lastByClock] = [used(), performance.now()];

function used(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function note(): void {
  const [now, nowByClock] = [used(), performance.now()];
  longest = Math.max(longest, now - last);
  longestByClock = Math.max(longestByClock, nowByClock - lastByClock);
  [last, lastByClock] = [now, nowByClock];
}

setInterval(note, period).unref();
process.on("SIGUSR2", () => {
  note();
  process.stderr.write(`stood still ${longest.toFixed(1)} ${longestByClock.toFixed(1)}\n`);
  [longest, longestByClock] = [0, 0];
});
