// Classifies texts with an exported model: node classify.js intents.onnx TEXT ...
// Needs onnxruntime-web (npm). A browser page can also load this file and call `classify`.

const LETTER = "[\\p{L}\\p{M}\\p{N}_\\u200c\\u200d]";
const WORD_OR_SYMBOL = new RegExp(`${LETTER}+(?:'${LETTER}+)*|[^\\p{Z}\\p{Cc}]`, "gu");
const CLITIC = /(.)([nN]'[tT]|'(?:[sSmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))$/su;

function tokens(text, about) {
  text = text.replaceAll("\0", " ");
  if (about.lowercase) text = text.toLowerCase();
  let found;
  if (about.tokenizer === "whitespace") found = text.match(/[^ \t\n\v\f\r]+/gu);
  else found = text.replaceAll("’", "'").replace(/(\p{Script=Han})/gu, " $1 ").match(WORD_OR_SYMBOL);
  found ??= [];
  if (about.split_words) {
    for (let i = 0; i < 2; i++)
      found = found.flatMap((word) => word.replace(/([\p{L}\p{N}])-([\p{L}\p{N}])/gu, "$1 - $2").split(" "));
    found = found.flatMap((word) => word.replace(CLITIC, "$1 $2").split(" "));
  }
  return found.slice(0, about.max_length ?? undefined);
}

// Returns the label and its probability for each text. `about` is the content of the JSON file next to the ONNX file.
async function classify(ort, session, about, texts) {
  const numbers = new Map(about.vocabulary.map((word, number) => [word, number]));
  const ids = texts.map((text) => tokens(text, about).map((word) => numbers.get(word) ?? 1)); // 1: unknown word
  for (const row of ids) if (!row.length) row.push(1);
  const time = Math.max(...ids.map((row) => row.length));
  const words = new Int32Array(ids.length * time); // 0: padding
  ids.forEach((row, i) => words.set(row, i * time));
  const { probabilities } = await session.run({ words: new ort.Tensor("int32", words, [ids.length, time]) });
  const labels = about.label_names.length;
  return texts.map((_, i) => {
    const row = Array.from(probabilities.data.slice(i * labels, (i + 1) * labels));
    const best = row.indexOf(Math.max(...row));
    return { label: about.label_names[best], probability: row[best] };
  });
}

async function main([file, ...texts]) {
  const fs = require("fs");
  const ort = require("onnxruntime-web");
  const session = await ort.InferenceSession.create(fs.readFileSync(file));
  const about = JSON.parse(fs.readFileSync(file.replace(/\.onnx$/, ".json"), "utf8"));
  for (const { label, probability } of await classify(ort, session, about, texts))
    console.log(`${label}\t${probability.toFixed(6)}`);
}

if (typeof require !== "undefined" && require.main === module) main(process.argv.slice(2));
