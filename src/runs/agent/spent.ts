import { canonicalJson, fail } from '../../core/index.ts';
import { CHARACTERS_PER_TOKEN } from '../budgets.ts';
import { priceOf } from '../price.ts';
import type { TraceMessage } from '../trace/model.ts';
import type { Driving } from './driving.ts';

/** Why the run may not have another turn, by what it has spent; null while it may. */
export function spentBudget({ context, config, conversation }: Driving, createdAt: number): string | null {
  const { maxTokens, maxCostMicros, maxWallMs } = config.budgets;
  if (maxWallMs !== null && context.clock.nowMs() - createdAt >= maxWallMs) return `its budget of ${maxWallMs} ms`;
  if (maxTokens === null && maxCostMicros === null) return null;
  const turns = turnsOf(conversation.messages);
  const tokens = turns.reduce((sum, turn) => sum + turn.inputTokens + turn.outputTokens, 0);
  if (maxTokens !== null && tokens >= maxTokens) return `its budget of ${maxTokens} tokens`;
  if (maxCostMicros !== null && costOf(context.costOf, turns) >= maxCostMicros)
    return `its budget of ${maxCostMicros} millionths`;
  return null;
}

interface Turn {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/**
 * What each turn of the model took, side branches included, as the provider counted it. One that does not count gets a
 * token for every four characters of what is stored, rounded up: a budget holds for it, too.
 */
function turnsOf(messages: readonly TraceMessage[]): readonly Turn[] {
  const turns: Turn[] = [];
  let before = 0;
  for (const message of messages) {
    const own = charactersOf(message);
    if (message.role === 'assistant')
      turns.push({
        inputTokens: message.promptTokens ?? Math.ceil(before / CHARACTERS_PER_TOKEN),
        outputTokens: message.completionTokens ?? Math.ceil(own / CHARACTERS_PER_TOKEN),
      });
    before += own;
  }
  return turns;
}

const charactersOf = ({ content }: TraceMessage): number =>
  typeof content === 'string' ? content.length : canonicalJson(content).length;

function costOf(price: Driving['context']['costOf'], turns: readonly Turn[]): number {
  if (price === null) throw fail('RUN_CONFIG_INVALID', 'A budget of cost needs a price function (costOf).');
  return turns.reduce((sum, turn) => sum + priceOf(price, turn), 0);
}
