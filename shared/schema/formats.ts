/** The values of `format` that are checked: RFC 3339, 3986, 5321, 1123, 4291 and 9562. Each takes time proportional to the text. */
export const formats: ReadonlyMap<string, { readonly example: string; readonly test: (text: string) => boolean }> =
  new Map([
    ["date", { example: "a date such as 2026-01-31", test: isDate }],
    ["time", { example: "a time with its zone, such as 09:30:00Z", test: isTime }],
    ["date-time", { example: "a date and time with its zone, such as 2026-01-31T09:30:00Z", test: isDateTime }],
    ["uri", { example: "a URI such as https://example.org/path", test: isUri }],
    ["email", { example: "an e-mail address such as ada@example.org", test: isEmail }],
    ["hostname", { example: "a host name such as example.org", test: isHostname }],
    ["ipv4", { example: "an IPv4 address such as 192.0.2.1", test: isIpv4 }],
    ["ipv6", { example: "an IPv6 address such as 2001:db8::1", test: isIpv6 }],
    ["uuid", { example: "a UUID such as 123e4567-e89b-42d3-a456-426614174000", test: isUuid }],
  ]);

function isDate(text: string): boolean {
  const [, year = "", month = "", day = ""] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  if (day === "" || Number(month) < 1 || Number(month) > 12 || Number(day) < 1) return false;
  // Day 0 of the next month is the last one of this.
  const last = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate();
  return Number(day) <= last;
}

function isTime(text: string): boolean {
  const found = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i.exec(text);
  if (found === null) return false;
  const [hour = 0, minute = 0, second = 0] = found.slice(1, 4).map(Number);
  const [zoneHour, zoneMinute] = [Number(found[5] ?? 0), Number(found[6] ?? 0)];
  if (hour > 23 || minute > 59 || zoneHour > 23 || zoneMinute > 59) return false;
  if (second < 60) return true;
  // A leap second ends a day of UTC.
  const zone = (zoneHour * 60 + zoneMinute) * (found[4] === "-" ? -1 : 1);
  return second === 60 && (hour * 60 + minute - zone + 2 * 1_440) % 1_440 === 1_439;
}

function isDateTime(text: string): boolean {
  return isDate(text.slice(0, 10)) && /^t$/i.test(text.charAt(10)) && isTime(text.slice(11));
}

const uriCharacters = /^(?:[\w.~:/?@!$&'()*+,;=-]|%[\da-f]{2})*$/i;

function isUri(text: string): boolean {
  const [, hierarchy = "", query = "", fragment = ""] =
    /^[a-z][a-z\d+.-]*:([^?#]*)(?:\?([^#]*))?(?:#([^#]*))?$/i.exec(text) ?? [];
  if (!/^[a-z][a-z\d+.-]*:/i.test(text) || text.split("#").length > 2) return false;
  if (!uriCharacters.test(query) || !uriCharacters.test(fragment)) return false;
  if (!hierarchy.startsWith("//")) return uriCharacters.test(hierarchy);
  const [authority = "", ...path] = hierarchy.slice(2).split("/");
  const at = authority.lastIndexOf("@");
  const [, host = "", port = ""] = /^(\[.*\]|[^:]*)(?::(\d*))?$/.exec(authority.slice(at + 1)) ?? [undefined, "[", ""];
  const isHost = host.startsWith("[") ? isIpLiteral(host.slice(1, -1)) : uriCharacters.test(host);
  const isOther = !authority.slice(0, Math.max(at, 0)).includes("@") && uriCharacters.test(authority.slice(0, at + 1));
  return isHost && isOther && port.length <= 5 && uriCharacters.test(path.join("/"));
}

function isIpLiteral(text: string): boolean {
  return isIpv6(text) || /^v[\da-f]+\.[\w.~!$&'()*+,;=:-]+$/i.test(text);
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const [local, domain] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  const word = "[\\w!#$%&'*+/=?^`{|}~-]+";
  const isLocal = new RegExp(`^(?:${word}(?:\\.${word})*|"(?:[ !#-\\[\\]-~]|\\\\[ -~])*")$`).test(local);
  const literal = /^\[(IPv6:)?(.*)\]$/.exec(domain);
  const isDomain = literal === null ? isHostname(domain) : (literal[1] ? isIpv6 : isIpv4)(literal[2] ?? "");
  return isLocal && isDomain;
}

function isHostname(text: string): boolean {
  return text.length <= 253 && text.split(".").every(label => /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i.test(label));
}

function isIpv4(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every(part => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

function isIpv6(text: string): boolean {
  const last = text.slice(text.lastIndexOf(":") + 1);
  // Four bytes in decimal stand for the last two groups.
  if (last.includes("."))
    return text.includes(":") && isIpv4(last) && isIpv6(`${text.slice(0, text.length - last.length)}0:0`);
  const halves = text.split("::");
  const groups = halves.flatMap(half => (half === "" ? [] : half.split(":")));
  const isCount = halves.length === 1 ? groups.length === 8 : halves.length === 2 && groups.length <= 7;
  return isCount && groups.every(group => /^[\da-f]{1,4}$/i.test(group));
}

function isUuid(text: string): boolean {
  return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);
}
