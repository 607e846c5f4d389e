import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { realFileSystem } from "../../../../main/files/file-system.ts";
import { positionFileName, StreamPositionFile } from "../../../../main/store/shared/stream/stream-position.ts";
import { systemClock } from "../../../../main/time/clock.ts";
import { temporaryFolder } from "../../../helpers/temporary-folder.ts";

const sound = { id: "a", stream: "team", sequence: 1, number: 1, message: "b" };

test.each(["", "{", "7", JSON.stringify({ ...sound, message: undefined }), JSON.stringify({ ...sound, sequence: -1 })])(
  "a file with %j is damaged, which is not the same as none",
  async text => {
    await using folder = await temporaryFolder();
    const files = { folder: folder.path, temporaryFolder: folder.path, fileSystem: realFileSystem, clock: systemClock };
    const options = { ...files, assertHeld: () => {}, onProblem: () => {} };
    const read = () => new StreamPositionFile(options).read("team");
    expect(await read()).toBeUndefined();
    await writeFile(join(folder.path, positionFileName), JSON.stringify(sound));
    expect(await read()).toEqual(sound);
    await writeFile(join(folder.path, positionFileName), text);
    expect(await read()).toMatchObject({ sequence: -1, damage: expect.stringContaining("is damaged") });
  },
);
