// What is said of a classifier's decision, by the page and in the file of one, in English and Chinese.

const grouped = (number) => number.toLocaleString("en-US");
const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);

const WORDS = {
  en: {
    title: "How this label came about",
    other: "中文",
    text: "Text",
    textHint: "The label follows what you type.",
    decision: "Decision",
    reading: "Reading …",
    nothing: "Type a text to have it labelled.",
    failed: (sentence) => `This cannot be shown: ${sentence}`,
    sure: (percent) => `sure by ${percent}`,
    unread: (count) => `The text is longer than what the model reads: ${grouped(count)} tokens were left out.`,
    words: "Which words moved it",
    wordsHint: "What the decision loses when a word is hidden. Point at a word, or go through them with ← and →.",
    whichLabel: "for",
    legend: (label) => [`speaks for “${label}”`, "speaks against it"],
    influence: (word, value, label) => `“${word}” ${signed(value)} ${value < 0 ? "against" : "for"} “${label}”`,
    strongest: "Strongest words",
    number: signed,
    attention: "Attention",
    attentionHint:
      "Where each token looks while the text is read. This is not by itself an explanation of the decision: compare " +
      "it with the words above.",
    tooLong: (limit) =>
      `Attention is shown for texts of up to ${grouped(limit)} characters and 128 tokens; this one is longer.`,
    longText: "The text is too long for its attention to be shown.",
    noLayers: "This classifier has no attention: there is nothing to draw.",
    layer: "Layer",
    head: "Head",
    mean: "mean",
    axes: "Rows: tokens that look; columns: tokens looked at.",
    weight: (row, column, weight) => `${row} → ${column}: ${weight}`,
    allHeads: "All heads, one row for each layer",
    which: (layer, head) => `layer ${layer + 1}, head ${head + 1}`,
  },
  zh: {
    title: "这个标签是怎样得出的",
    other: "English",
    text: "文本",
    textHint: "标签随输入更新。",
    decision: "判断",
    reading: "正在阅读……",
    nothing: "输入一段文本，看看它会得到什么标签。",
    failed: (sentence) => `无法显示：${sentence}`,
    sure: (percent) => `把握 ${percent}`,
    unread: (count) => `文本超出了模型能读的长度：有 ${grouped(count)} 个词元没有读。`,
    words: "哪些词影响了判断",
    wordsHint: "隐去一个词时，判断会失去多少。将指针移到词上，或用 ← → 逐词查看。",
    whichLabel: "针对",
    legend: (label) => [`支持“${label}”`, "反对"],
    influence: (word, value, label) => `“${word}” ${signed(value)}，${value < 0 ? "反对" : "支持"}“${label}”`,
    strongest: "影响最大的词",
    number: signed,
    attention: "注意力",
    attentionHint: "阅读时每个词元看向哪里。它本身并不是对判断的解释，请与上面的词对照。",
    tooLong: (limit) => `只有不超过 ${grouped(limit)} 个字符、128 个词元的文本才显示注意力；这段文本更长。`,
    longText: "文本太长，无法显示注意力。",
    noLayers: "这个分类器没有注意力，没有什么可画。",
    layer: "层",
    head: "头",
    mean: "平均",
    axes: "行：查看的词元；列：被查看的词元。",
    weight: (row, column, weight) => `${row} → ${column}：${weight}`,
    allHeads: "所有的头，每层一行",
    which: (layer, head) => `第 ${layer + 1} 层，第 ${head + 1} 个头`,
  },
};

export const labelWords = (language) => WORDS[language];
