import { useState } from "react";
import { Button } from "../parts/button.tsx";

/** Loads the next page of a list that shows the newest entries first. */
export function OlderButton({ load }: { load(): Promise<void> }) {
  const [reading, setReading] = useState(false);
  return (
    <Button
      className="button"
      pending={reading && "Reading…"}
      onClick={() => {
        setReading(true);
        void load().finally(() => setReading(false));
      }}
    >
      Show older entries
    </Button>
  );
}
