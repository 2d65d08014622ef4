import { z } from 'zod';
import { createLog } from '../../src/core/index.ts';
import { type ModelFunction, tool } from '../../src/index.ts';
import { openWorld } from '../gateway/world.ts';
import { assert, check } from '../support/index.ts';

check(
  'every line of the log is a JSON object of its own, and none holds a token, an argument or what broke',
  async (t) => {
    const lines: string[] = [];
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ card: z.string(), note: z.string() }),
      effect: 'once',
      needsApproval: false,
      secretFields: ['card'],
      execute: () => {
        throw new Error('card 4000-1111 was refused at /var/lib/bank');
      },
    });
    const model: ModelFunction = () => ({
      calls: [{ toolName: 'pay', arguments: { card: '4000-1111', note: 'a private note' } }],
    });
    const world = await openWorld(t, { model, tools: [pay], log: createLog({ write: (line) => lines.push(line) }) });
    const token = await world.token(['agent', 'admin'], { subject: 'robin' });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'k-1' };
    const begun = await fetch(`${world.url}/api/v1/runs`, {
      method: 'POST',
      headers,
      body: '{"task":"a private errand"}',
    });
    await begun.text();
    await (await fetch(`${world.url}/api/v1/runs/${token}?x=${token}`, { headers })).text();
    await (await fetch(`${world.url}/api/v1/runs`, { headers: { authorization: `Bearer ${token}x` } })).text();
    const made = await fetch(`${world.url}/api/v1/tokens`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': 'k-2' },
      body: '{"subject":"x","roles":["agent"]}',
    });
    const { token: other } = (await made.json()) as { token: string };
    await world.close();
    assert.ok(lines.length >= 4);
    for (const line of lines) {
      const entry = JSON.parse(line) as Record<string, unknown>;
      for (const field of ['time', 'level', 'event']) assert.equal(typeof entry[field], 'string', line);
    }
    assert.ok(lines.some((line) => line.includes('"route":"startRun"') && line.includes('"subject":"robin"')));
    const text = lines.join('\n');
    for (const secret of ['4000-1111', 'private', '/var/lib', token.slice(-43), other.slice(-43), 'Bearer'])
      assert.ok(!text.includes(secret), secret);
  },
);
