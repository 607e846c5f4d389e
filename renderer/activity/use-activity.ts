import { useEffect, useMemo } from "react";
import { useStore } from "zustand";
import { useScreen } from "../state/store.ts";
import { type Activity, createActivityList } from "./activity-list.ts";

/** The matches of a query in the histories of all repositories, kept up to date while shown. */
export function useActivity(query: string, pageSize: number): Activity & { older(): Promise<void>; showFresh(): void } {
  const connected = useScreen(state => state.connection === "connected");
  const list = useMemo(() => createActivityList(query, pageSize), [query, pageSize]);
  useEffect(() => (connected ? list.follow() : undefined), [list, connected]);
  const { older, showFresh } = list;
  return { ...useStore(list.store), older, showFresh };
}
