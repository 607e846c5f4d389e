import { expect, test } from "vitest";
import { looksLikeSecret } from "../../../main/cli/import/looks-like-secret.ts";

// Made up, and put together here: scanners of repositories take what has the form of a key for a key.
const mixed = "q7Wz0pLk3TgX9vBn5sRd2mYc";
const hex = "0123456789abcdef0123456789abcdef";
const begin = (what: string) => `-----BEGIN ${what}-----\nMIIE\n`;

test.each([
  ["names", "DB_PASSWORD PGPASS SMTPPASS dbPass dbPassword PASSWORD2 SSHPASS PASSPHRASE WALLET_MNEMONIC CREDS"],
  ["names", "STRIPE_KEY GH_PAT auth_token AUTHTOKEN TS_AUTHKEY OAUTH AUTHORIZATION SLACK_WEBHOOK COOKIE LOGIN_COOKIE"],
])("a variable is hidden by its name: %s %s", (_, names) => {
  for (const name of names.split(" ")) expect([name, looksLikeSecret({ name, text: "x" })]).toEqual([name, true]);
});

test.each([
  [
    "URLs",
    "postgres://me:p/w@shop.test/db",
    "https://me:pw@shop.test",
    "redis://:pw@shop.test",
    `https://${hex}@shop.test/4`,
  ],
  [
    "URLs",
    "amqp://me@shop.test:pw@mq.test",
    "https://shop.test/?token=x",
    "https://x.test/a?sig=x&sv=1",
    `https://x.test/v3/${hex}`,
  ],
  [
    "connections",
    "me:pw@tcp(db:3306)/shop",
    "Server=db;Password=x",
    "Endpoint=sb://x/;SharedAccessKey=x",
    "AccountKey=x",
  ],
  [
    "connections",
    "jdbc:oracle:thin:me/pw@db:1521:x",
    "me/pw@//db:1521/x",
    "host=db user=me password=x",
    "user=me pass=x",
  ],
  [
    "headers",
    "Authorization: Basic bWU6cHc=",
    "Bearer x",
    "Token x",
    '{"Authorization":"x"}',
    "X-Api-Key: x",
    "Basic bWU6cHc=",
  ],
  ["cookies", "sessionid=x; Path=/", "connect.sid=x", "JSESSIONID=x", "Cookie: a=b", "PHPSESSID=x"],
  ["commands", "curl -u me:pw https://x.test", "login --password x", "x --api-key=y", "x --user=me:pw"],
  [
    "keys",
    begin("RSA PRIVATE KEY"),
    begin("OPENSSH PRIVATE KEY"),
    begin("PGP PRIVATE KEY BLOCK"),
    "PuTTY-User-Key-File-3: x",
  ],
  [
    "keys",
    '{"private_key": "x"}',
    "AGE-SECRET-KEY-1X",
    "0x4c0883a69102937d6231",
    `${mixed}/${mixed}+==`,
    ` ${mixed}\n`,
  ],
  ["npm", "//registry.test/:_authToken=x", "//registry.test/:_auth=x", `npm_${mixed}`],
  ["Docker", '{"auths":{"x.test":{"auth":"bWU="}}}', `dckr_pat_${mixed}`],
  [
    "AWS",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    `/${mixed}/K7MDENG`,
  ],
  ["Google", `AIza${mixed}_x-12345`, `GOCSPX-${mixed}`, "ya29.x", `1//0g${mixed}-x`],
  ["GitHub, GitLab", "ghp_x", "ghs_x", "github_pat_x", "glpat-x"],
  [
    "Slack, Discord",
    "xoxb-x",
    "xoxe.xoxp-1-x",
    `xapp-1-A0-1-${hex}`,
    "https://hooks.slack.com/services/x",
    `MTk4NjIy${mixed}.Cl2FMQ.x`,
  ],
  ["webhooks", "https://discord.test/api/webhooks/1/x", "https://hooks.zapier.com/hooks/catch/1/x"],
  ["payment", ["sk", "live", "x"].join("_"), ["rk", "test", "x"].join("_"), `whsec_${mixed}`, `sq0csp-${mixed}`],
  ["mail", "SG.x.y", `key-${hex}`, `xkeysib-${hex}${hex}-x`, `${hex}-us1`, hex],
  ["Twilio, Telegram", hex, `SK${hex}`, `123456789:AA${mixed}_abcde-xy`],
  [
    "clouds",
    `dop_v1_${hex}${hex}`,
    `abc8Q~${mixed}.x~y`,
    "hvs.x",
    "dp.pt.x",
    "pat-na1-x",
    `shpat_${hex}`,
    `dapi${hex}`,
    `sbp_${hex}`,
  ],
  ["models", `sk-ant-api03-${mixed}`, `sk-or-v1-${hex}${hex}`, `sk-proj-${mixed}`, `hf_${mixed}`],
  ["JWT", "eyJhbGciOiJub25lIn0.e30.", "JWT eyJhbGciOiJub25lIn0.e30.x"],
])("a variable is hidden by its text: %s %j", (_, ...texts) => {
  for (const text of texts) expect([text, looksLikeSecret({ name: "A", text })]).toEqual([text, true]);
});

test.each([
  ["MODE", "x"],
  ...["KEYBOARD", "PATH", "COMPASS_HEADING", "BYPASS", "PATTERN", "TOKENIZER", "AUTHOR", "COOKIE_DOMAIN"].map(name => [
    name,
    "x",
  ]),
  ["SESSION_SECURE_COOKIE", "true"],
  ["API_TOKEN", "cmd://pass/token"],
  ["API_TOKEN", ""],
  ...[
    ...["https://shop.test:80/a@b", "http://localhost:3000?to=me@shop.test", "mailto:me@shop.test", "me@shop.test"],
    ...[
      "git@github.test:shop/web.git",
      "ssh://git@github.test:22/shop/web.git",
      "db:5432",
      "postgres:16-alpine",
      "redis://cache:6379/0",
    ],
    ...[
      "src/long/path/without/capitals-9",
      "/Users/Anna/Projects2/Shop/web",
      "/nix/store/0123456789abcdfghijklmnpqrsvwxyz-node",
      "C:\\Users\\Anna",
    ],
    ...[
      "2026-11-30T15:00:00.000Z",
      "0 3 * * 1-5",
      "v1.2.3-RC1+Build.20240101",
      "550e8400-e29b-41d4-a716-446655440000",
      "20261130150000123",
    ],
    ...[
      `web@sha256:${hex}${hex}`,
      `${hex}.png`,
      "db1.Shop-Production.internal.example",
      "a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6-1.elb.example",
    ],
    ...[
      "arn:aws:iam::123456789012:role/Deploy",
      "i-0abcdef1234567890",
      "web-7d4b9c6f5d-x2x4z",
      "docker run -u 1000:1000 web",
    ],
    ...[
      "The quick brown fox",
      "--max-old-space-size=4096",
      "Europe/Berlin",
      "en-US,en;q=0.9",
      '{"debug":true,"level":"info"}',
    ],
    ...[
      "com.example.shop.Application",
      "Mozilla/5.0 (X11; Linux x86_64)",
      "a=1&b=2",
      "#ff8800",
      "*.shop.test,10.0.0.0/8",
    ],
  ].map(text => ["A", text]),
])("a variable is shown: %s=%j", (name = "", text = "") => {
  expect(looksLikeSecret({ name, text })).toBe(false);
});

test("the time for a long text grows with its length only", () => {
  for (const part of ["a.", "://a:", "key ", "-u ", "a/", "a:", "Aa1", "sha256:", "1", "eyJ"])
    looksLikeSecret({ name: "A", text: part.repeat(100_000) });
});
