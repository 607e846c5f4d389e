import type { FoundVariable } from "../../../shared/import/found-variables.ts";
import { isPlainSecret } from "../environment/secret-references.ts";

/** Parts of names that mostly have secrets as their values. */
const secretName =
  /PASSW(?:OR)?D|PASSPHRASE|PASSCODE|SECRET|CREDENTIAL|MNEMONIC|TOKEN(?!I[ZS])|(?:KEYS?|PWD|CREDS?|(?<!BY|COM|SUR|TRES)PASS)\d*(?:_|$)|(?:^|_)(?:O?AUTH|PAT|SALT|JWT|WEBHOOK|DSN)\d*(?:_|$)|(?:AUTHORIZATION|COOKIES?)$/i;

/** What a text has in it, or is, that is a secret whatever else it says. Each takes a time that grows with the text's length only. */
const secretTexts = [
  // A URL with a password or a long user name, the same without a scheme, and the two forms of Oracle.
  /:\/\/(?:[^\s/:]*:(?!\d+[/?#])[^\s@]{1,1000}|[^\s/:@]{16,})@/,
  /^(?!(?:mailto|acct|sips?|xmpp):)[^\s/:@]+:[^\s/@]+@(?!sha\d)/i,
  /^jdbc:oracle:\w+:[^\s/@]+\/[^\s@]+@|^[^\s/:@]+\/[^\s/@]+@\/\//,
  // What services begin their keys and tokens with.
  /^(?:[srp]k_|gh[a-z]_|github_pat_|glpat-|xox[a-z][-.]|SG\.|ya29\.|hv[bsr]\.|dp\.[a-z]+\.|pat-[a-z]+\d-)|\beyJ[\w-]+\./,
  /-----BEGIN |PuTTY-User-Key-File|AGE-SECRET-KEY-|\b\d{8,10}:[\w-]{35}\b/,
  /hooks\.(?:slack|zapier)\.com|\/api\/webhooks\//,
  // A secret after its name, as in connection strings, headers, cookies, JSON and options of commands.
  /(?:passw(?:or)?d|passphrase|pwd|secret|token|key|credentials?|authorization|cookie|sess(?:ion)?[_-]?id|sig(?:nature)?|\b_?auth|\b(?:pass|sid|jwt))["']?\s*[=:]\s*\S/i,
  /(?:^|\s)--?(?:password|passwd|pass|token|secret|api-?key)\s+[^\s-]|(?:^|\s)(?:-u|--user)[\s=]\s*(?!\d+:\d)[^\s:]+:\S/i,
  /\bbearer\s+\S|^(?:basic|token|apikey|bot|digest)\s+\S+$/i,
];

/** A whole text of letters and digits, or also of what encodings, tokens and names put between them: then with letters of both cases. */
const randomText =
  /^(?=.*[0-9])(?:(?=.*[A-Za-z])[A-Za-z0-9]{16,}|(?=.*[a-z])(?=.*[A-Z])(?!v?\d+\.)(?!.*\.[a-z]+$)[\w+/=~.-]{24,})$/;

/** Whether the text of a variable is, by its name or by itself, more likely a secret than not: the preview of an import hides it. */
export function looksLikeSecret({ name, text }: FoundVariable): boolean {
  const bare = text.trim();
  if (!isPlainSecret(bare) || /^(?:true|false)$/i.test(bare)) return false;
  return secretName.test(name) || secretTexts.some(one => one.test(bare)) || looksRandom(bare);
}

/** Whether a text is long letters and digits, or has some in it: elsewhere than in digests, and in names of files and hosts. */
function looksRandom(text: string): boolean {
  const isPath = /^(?:[.~]?\/|[A-Z]:\\)/i.test(text);
  if (!isPath && randomText.test(text)) return true;
  const words = text.replace(/\bsha\d+[:-][\w+/=]+/gi, "").split(/[^\w.-]+/);
  const runs = words.filter(word => !/\.[a-z]{2,}$/.test(word)).flatMap(word => word.match(/[A-Za-z0-9]{20,}/g) ?? []);
  return runs.some(run => {
    const hasBothCases = /[a-z]/.test(run) && /[A-Z]/.test(run);
    return /[0-9]/.test(run) && (hasBothCases || (!isPath && run.length >= 32 && /[A-Za-z]/.test(run)));
  });
}
