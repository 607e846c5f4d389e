/** A text as a control of the browser shows and returns it: with \n at the end of each line. */
export function withLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

/** What the person made of a text that was shown `withLineFeeds`: all line ends but those that they changed stay as they were. */
export function withOwnLineEnds(before: string, typed: string): string {
  const shown = withLineFeeds(before);
  if (shown === before) return typed;
  const most = Math.min(shown.length, typed.length);
  let [start, end] = [0, 0];
  while (start < most && shown[start] === typed[start]) start += 1;
  while (end < most - start && shown.at(-1 - end) === typed.at(-1 - end)) end += 1;
  const added = typed.slice(start, typed.length - end);
  const result =
    before.slice(0, placeIn(before, start)) +
    (before.includes("\r\n") ? added.replaceAll("\n", "\r\n") : added) +
    before.slice(placeIn(before, shown.length - end));
  // A lone \r beside an added \n would become one line end.
  return withLineFeeds(result) === typed ? result : typed;
}

/** Where the place of the shown text is in the text itself. */
function placeIn(text: string, shownPlace: number): number {
  let place = 0;
  for (let shown = 0; shown < shownPlace; shown += 1) place += text.startsWith("\r\n", place) ? 2 : 1;
  return place;
}
