import type { SessionHooks } from '../sessions/index.ts';
import { DROP_REQUESTS_OF_SESSION, DROP_RULES_OF_SESSION } from './queries.ts';

/** What this room does when a session goes: its requests and its own rules go with it. Wired where the rooms are joined. */
export const approvalSessionHooks: SessionHooks = {
  async onDelete(tx, rootFrameId) {
    await tx.run(DROP_REQUESTS_OF_SESSION, [rootFrameId]);
    await tx.run(DROP_RULES_OF_SESSION, [rootFrameId]);
  },
};
