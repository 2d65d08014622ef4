import type { SessionHooks } from '../sessions/index.ts';
import { eraseRecords } from './records.ts';

/** What this room does when a session goes: its records go with it. Wired where the rooms are joined. */
export const packageSessionHooks: SessionHooks = {
  async onDelete(tx, rootFrameId) {
    await eraseRecords(tx, rootFrameId);
  },
};
