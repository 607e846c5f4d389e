import { startApp } from "./app-on-double.ts";
import { desktopScenarios } from "./scenarios.ts";

desktopScenarios({
  name: "on the double",
  start: async (home, args = []) => {
    const double = await startApp(home, { args });
    const window = () => {
      const [first] = double.windows;
      if (first === undefined) throw new Error("there is no window");
      return first;
    };
    return {
      page: () => window().page,
      windowIsVisible: async () => window().visible,
      closeWindow: async () => window().close(),
      startAgain: async more => void double.app.emit("second-instance", {}, ["electron", ...more]),
      quit: async () => double.app.quit(),
      exited: double.app.exited,
      webPreferences: async () => window().options.webPreferences,
      questions: async () => double.dialogs.map(({ message }) => message),
      [Symbol.asyncDispose]: () => double[Symbol.asyncDispose](),
    };
  },
});
