// Opens many event streams of a gateway, says so, and says how many events they were told in all.
const [url = '', token = '', count = '0', events = '0'] = process.argv.slice(2);

const responses = await Promise.all(
  Array.from({ length: Number(count) }, () =>
    fetch(`${url}/api/v1/events`, { headers: { authorization: `Bearer ${token}` } }),
  ),
);
process.stdout.write('opened\n');
let told = 0;
await Promise.all(
  responses.map(async ({ body }) => {
    let mine = 0;
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      mine += part.split('"seq":').length - 1;
      if (mine >= Number(events)) break;
    }
    told += mine;
  }),
);
process.stdout.write(`${told}\n`);
process.exit(0);
