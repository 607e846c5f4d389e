/** In the folder of the log: which shared log a home follows, and how far its histories have come. */
export const placeFileName = "stream.json";
