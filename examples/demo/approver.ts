// The approver of the demo: a process of its own, which knows the gateway's address and a token, and nothing else.
import { GatewayRefusal, HoldfastClient } from '../../src/client/index.ts';

const { HOLDFAST_URL: url = '', HOLDFAST_TOKEN: token = '' } = process.env;
const [requestId = ''] = process.argv.slice(2);
const gateway = new HoldfastClient({ url, token });

const request = await gateway.showApproval(requestId);
const shown = JSON.parse(request.canonical_arguments) as object;
const { digest } = request;
const lowered = { decision: 'approve', digest, edited_arguments: { ...shown, amount_cents: 1 } } as const;
const refusal = await gateway.decide(requestId, lowered).catch((error: unknown) => error);
if (!(refusal instanceof GatewayRefusal)) throw new Error('the amount may not be edited');
const corrected = { decision: 'approve', digest, edited_arguments: { ...shown, reason: 'damaged' } } as const;
const decided = await gateway.decide(requestId, corrected);

console.log(
  JSON.stringify({
    subject: (await gateway.principal()).subject,
    tool: request.tool,
    held: request.canonical_arguments,
    refused: { status: refusal.status, code: refusal.code },
    approved: decided.request.canonical_arguments,
    decided_by: decided.request.decided_by,
    run_continues: decided.run_continues,
  }),
);
