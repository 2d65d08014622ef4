export { type IssuedToken, type Role, ROLES, type Token, tokenDocument } from './model.ts';
export { findReply, keepReply, type KeptReply, type KeyedRequest } from './replies.ts';
export { repliesSchema, tokensSchema } from './tables.ts';
export {
  createToken,
  currentRoles,
  hasToken,
  listTokens,
  type NewToken,
  requireToken,
  revokeToken,
  rotateToken,
  type TokenPage,
  type TokensContext,
} from './tokens.ts';
