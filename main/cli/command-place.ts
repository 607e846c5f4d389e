/** Options that may precede a command's name and take a value; a test compares them with command-options.ts, which loads more. */
export const valuedLeadingOptions: readonly string[] = ["-C", "--home", "--key-file", "--repo"];

/** Where the name of the command is among the arguments, which is after their end if there is none. */
export function indexOfCommand(args: readonly string[]): number {
  let index = 0;
  while (args[index]?.startsWith("-")) index += valuedLeadingOptions.includes(args[index] ?? "") ? 2 : 1;
  return index;
}
