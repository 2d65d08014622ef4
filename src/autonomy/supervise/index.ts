export type { AutonomyBudgets, BudgetName } from './budgets.ts';
export type { SuperviseContext } from './context.ts';
export { PERMISSION_PROMPT, REVIEW_PROMPT } from './prompts.ts';
export { runsOfTurn, type SupervisionView, supervisionView } from './standing.ts';
export { Supervisor } from './supervisor.ts';
export {
  type AutonomyTerms,
  type ReviewerOptions,
  SUPERVISOR,
  supervisionTerms,
  type SupervisionTerms,
} from './terms.ts';
