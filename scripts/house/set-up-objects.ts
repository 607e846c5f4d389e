/** Interfaces that a caller fills to make or call something, by their names. */
const setUp = /(?:Options|Context|Parts|Deps|Given|Surroundings)$/;
/** The formatter sets spaces and line ends. */
const declaration = /^(?:export )?interface (\w+)(?: extends ([^{]+?))? \{\n([\s\S]*?)^\}/gm;
const member = /^ {2}(?:readonly )?(\w+)\??[:(<]/gm;
const base = /(?:Partial<)?(?:(Omit|Pick)<)?(\w+)>?(?:, ((?:"\w+"(?: \| )?)+)>)?/g;

/** How many members each set-up object has, by its name: its own, and those of the interfaces that it extends. */
export function setUpObjectsOf(texts: Iterable<string>): ReadonlyMap<string, number> {
  const declared = new Map<string, { readonly bases: string; readonly body: string }>();
  for (const text of texts)
    for (const [, name = "", bases = "", body = ""] of text.matchAll(declaration)) declared.set(name, { bases, body });
  const membersOf = (name: string): string[] => {
    const { bases = "", body = "" } = declared.get(name) ?? {};
    const own = [...body.matchAll(member)].map(([, one = ""]) => one);
    const inherited = [...bases.matchAll(base)].flatMap(([, utility, of = "", names = ""]) => {
      const isNamed = (one: string) => names.includes(`"${one}"`);
      return membersOf(of).filter(one => utility === undefined || isNamed(one) === (utility === "Pick"));
    });
    return [...new Set([...own, ...inherited])];
  };
  return new Map([...declared.keys()].filter(name => setUp.test(name)).map(name => [name, membersOf(name).length]));
}
