// Two public client libraries of this protocol family against the emulator: node check.mjs BASE_URL.
// The emulator must take the header prefix x-goog and know the aliases that test/sdk/run.sh gives it.
import assert from "node:assert/strict";
import { GoogleGenAI } from "@google/genai";
import { GoogleGenerativeAI, HarmBlockThreshold, HarmCategory } from "@google/generative-ai";

const baseUrl = process.argv[2];
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
let checks = 0;
async function check(name, run) {
  try {
    await run();
    checks++;
  } catch (error) {
    console.error(`FAIL ${name}: ${error.stack}`);
    process.exitCode = 1;
  }
}

// What the tool of the checks answers.
const declared = [{ functionDeclarations: [{ name: "get_order", description: "d", parameters: { type: "OBJECT", properties: { id: { type: "STRING" } }, required: ["id"] } }] }];
const result = ({ id, name, args }) => ({ functionResponse: { ...(id && { id }), name, response: { status: args.id === "A17" ? "shipped" : "lost" } } });

// The first library.
const old = new GoogleGenerativeAI("any key");
for (const apiVersion of ["v1", "v1beta"]) {
  const options = { baseUrl, apiVersion };
  const pro = old.getGenerativeModel({
    model: "gemini-pro",
    generationConfig: { temperature: 0, topK: 1, maxOutputTokens: 8192, stopSequences: ["STOP"] },
    safetySettings: Object.values(HarmCategory).map((category) => ({ category, threshold: HarmBlockThreshold.BLOCK_NONE })),
  }, options);
  const embedder = old.getGenerativeModel({ model: "text-embedding-004" }, options);
  await check(`old ${apiVersion} generateContent`, async () => {
    const { response } = await pro.generateContent("hello there STOP more");
    assert.equal(response.text(), "hello there ");
  });
  await check(`old ${apiVersion} image`, async () => {
    const eyes = old.getGenerativeModel({ model: "gemini-pro-vision" }, options);
    const { response } = await eyes.generateContent([{ inlineData: { mimeType: "image/png", data: pixel } }, "what is it?"]);
    assert.equal(response.text(), "what is it?");
  });
  await check(`old ${apiVersion} stream`, async () => {
    const { stream, response } = await pro.generateContentStream("one two three four five six seven eight nine");
    let chunks = 0;
    for await (const chunk of stream) chunks += chunk.text().length > 0;
    assert.ok(chunks > 1);
    assert.equal((await response).text(), "one two three four five six seven eight nine");
  });
  await check(`old ${apiVersion} streamed chat`, async () => {
    const chat = pro.startChat({ history: [{ role: "user", parts: [{ text: "hi" }] }, { role: "model", parts: [{ text: "hello" }] }] });
    await (await chat.sendMessageStream("one two three four five six")).response;
    assert.equal((await chat.sendMessage("and now?")).response.text(), "and now?");
  });
  await check(`old ${apiVersion} tool loop`, async () => {
    const chat = pro.startChat({ tools: declared, systemInstruction: { role: "system", parts: [{ text: "be kind" }] } });
    const calls = (await chat.sendMessage("where are my orders?")).response.functionCalls();
    assert.deepEqual(calls.map((c) => c.args.id), ["A17", "B2"]);
    assert.equal((await chat.sendMessage(calls.map(result))).response.text(), "The first one is shipped.");
  });
  await check(`old ${apiVersion} countTokens`, async () => {
    assert.equal((await pro.countTokens("12345678")).totalTokens, 2);
  });
  await check(`old ${apiVersion} embeddings`, async () => {
    const { embedding } = await embedder.embedContent("a text");
    const { embeddings } = await embedder.batchEmbedContents({ requests: ["x", "a text"].map((text) => ({ content: { role: "user", parts: [{ text }] } })) });
    assert.deepEqual(embeddings[1].values, embedding.values);
  });
  await check(`old ${apiVersion} errors`, async () => {
    await assert.rejects(old.getGenerativeModel({ model: "nobody" }, options).generateContent("x"), /404/);
  });
}

// Its successor.
const ai = new GoogleGenAI({ apiKey: "any key", httpOptions: { baseUrl } });
const model = "gemini-2.0-flash";
await check("new generateContent", async () => {
  const response = await ai.models.generateContent({
    model, contents: "hello", config: { systemInstruction: "be kind", candidateCount: 2, tools: [{ functionDeclarations: [{ name: "f" }] }] },
  });
  assert.equal(response.text, "hello");
  assert.equal(response.candidates.length, 2);
});
await check("new stream", async () => {
  let text = "", chunks = 0;
  for await (const chunk of await ai.models.generateContentStream({ model, contents: "one two three four five six" })) {
    text += chunk.text ?? "";
    chunks++;
  }
  assert.equal(text, "one two three four five six");
  assert.ok(chunks > 1);
});
await check("new streamed chat", async () => {
  const chat = ai.chats.create({ model });
  for await (const _ of await chat.sendMessageStream({ message: "one two three four five six seven eight" }));
  assert.equal((await chat.sendMessage({ message: "two" })).text, "two");
});
for (const streamed of [false, true]) {
  await check(`new tool loop, streamed: ${streamed}`, async () => {
    const chat = ai.chats.create({ model, config: { tools: declared, systemInstruction: "be kind" } });
    const send = async (message) => {
      if (!streamed) return [await chat.sendMessage({ message })];
      const chunks = [];
      for await (const chunk of await chat.sendMessageStream({ message })) chunks.push(chunk);
      return chunks;
    };
    const first = await send("where are my orders?");
    const calls = first.flatMap((r) => r.functionCalls ?? []);
    assert.deepEqual(calls.map((c) => c.args.id), ["A17", "B2"]);
    assert.equal(first.at(-1).usageMetadata.thoughtsTokenCount, 12);
    const second = await send(calls.map(result));
    assert.equal(second.map((r) => r.text ?? "").join(""), "The first one is shipped.");
  });
}
await check("new modes of calling", async () => {
  const config = (mode) => ({ tools: declared, toolConfig: { functionCallingConfig: { mode } } });
  assert.equal((await ai.models.generateContent({ model, contents: "x", config: config("ANY") })).functionCalls[0].name, "get_order");
  assert.equal((await ai.models.generateContent({ model, contents: "order", config: config("NONE") })).text, "order");
});
await check("new countTokens", async () => {
  assert.equal((await ai.models.countTokens({ model, contents: "12345678" })).totalTokens, 2);
});
await check("new embeddings", async () => {
  const { embeddings } = await ai.models.embedContent({ model: "gemini-embedding-001", contents: ["a", "b"], config: { outputDimensionality: 16 } });
  assert.deepEqual(embeddings.map((e) => e.values.length), [16, 16]);
});
await check("new models", async () => {
  const names = [];
  for await (const m of await ai.models.list({ config: { pageSize: 2 } })) names.push(m.name);
  assert.ok(names.length > 7 && names.includes("models/gemini-2.0-flash"));
  assert.equal((await ai.models.get({ model })).inputTokenLimit, 30720);
});
await check("new errors", async () => {
  await assert.rejects(ai.models.generateContent({ model: "nobody", contents: "x" }), (e) => e.status === 404);
});

console.log(`${checks} checks passed`);
