// What the view of attention and the page of one translation say, in English and Chinese.

import { signed } from "./beside.js";

const ATTENTION = {
  en: {
    attention: "Attention",
    attentionHint: "Point at a token to see only its lines; click to hold it.",
    noAttention: "This model has no attention: there is nothing to draw.",
    nameOfUse: (name) => ({ encoder: "Encoder", decoder: "Decoder", cross: "Cross" })[name] ?? name,
    kindOf: "use",
    layer: "layer",
    head: "head",
    mean: "mean",
    meanHint: "the mean of all heads",
    every: "all",
    everyHint: "all heads, each in its own colour",
    headHint: "click: add or remove; double-click or Shift+Enter: this one alone, again: all",
    nameOfHead: (head) => `head ${head + 1}`,
    place: (layer, head) => `layer ${layer + 1}, head ${head + 1}`,
    listing: "; ",
    mass: "show the strongest",
    merge: "whole words",
    hide: "hide symbols",
    severalNote: (heads) =>
      `Lines: heads ${heads.map((head) => head + 1).join(", ")}, each in its colour; the heat map is their mean.`,
    mergeNote: "Words: weights are added over the pieces looked at and averaged over the pieces that look.",
    hideNote: "The start, the end and language tags are left out, and what remains of each row is scaled to 1.",
    linesAxes: ({ from, at }) =>
      `${from === "source" ? "source token that looks" : "token being written"} → ${
        at === "source" ? "source token looked at" : "written before"}`,
    heatAxes: ({ from, at }) =>
      `${from === "source" ? "source token" : "token being written"} ↓ looks at ${
        at === "source" ? "source" : "what is written before"} →`,
    heatLabel: (kind) => `Heat map: ${kind}. Arrow keys go from cell to cell, Enter chooses one.`,
    heatHint: "Click a cell to hold its row.",
    openHint: "Click a cell, or press Enter on it, to see how its number came about.",
    save: "Save as PNG",
    masked: "masked",
    allHeads: "All heads",
    allHeadsHint: "One row for each layer. The number is how many tokens the head looks at on average.",
    changesHint: "The bar grows with what the translation loses without the head.",
    entropy: (bits) => `looks at ${(2 ** bits).toFixed(1)} tokens on average`,
    change: (value) => `without it the log-probability changes by ${signed(value)}`,
    besideTitle: (token) => `What “${token}” looks at, and what it rests on`,
    note:
      "Attention shows where a head looks. It is not by itself an explanation of the output; attribution, beside it, " +
      "hides one word at a time and says what the token being written loses without it.",
    lookedAt: (layer, heads) =>
      `looks at: cross-attention, layer ${layer + 1}, ${
        heads === null ? "mean of all heads"
        : heads.length === 1 ? `head ${heads[0] + 1}`
        : `mean of heads ${heads.map((head) => head + 1).join(", ")}`}`,
    restsOn:
      "rests on: log-probability lost when the word is hidden; blue speaks for the token being written, orange against",
    attributing: "Computing the attribution …",
    notAttributed: (sentence) => `There is no attribution: ${sentence}`,
    noAttribution: "The attribution was not computed for this page.",
    cell: "One weight, step by step",
    cellTitle: (from, to) => `“${from}” looks at “${to}”`,
    looksMost: "which looks there most",
    close: "Close",
    opening: "Computing …",
    notOpened: (sentence) => `This cell cannot be opened: ${sentence}`,
    query: (token) => `what “${token}” asks`,
    key: (token) => `what “${token}” answers`,
    terms: (sum) => `number by number; the sum of these is ${sum}`,
    totals: {
      dot_product: "The query times the key: large where question and answer point the same way.",
      additive: "A small network compares them: query and key are added, and v weighs what remains after tanh.",
    },
    scale: (root) => `Divided by ${root.toFixed(2)}, so that long vectors do not drown the softmax.`,
    mask: "mask",
    open: (count) =>
      count === 0
        ? "Nothing is hidden here: every token may be looked at."
        : `Visible. ${count === 1 ? "One token that comes" : `${count} tokens that come`} later may not be looked at.`,
    hidden: "Hidden: it comes later than the token being written.",
    softmax: (own, total) =>
      `Against the rest of the row, each as e to the power of its distance from the top: ${own} of ${total}.`,
    nothing: "What is hidden gets nothing.",
    row: "The row the softmax is taken over",
    lookedAtToken: "looked at",
  },
  zh: {
    attention: "注意力",
    attentionHint: "将指针移到词元上只看它的连线，点击可锁定。",
    noAttention: "这个模型没有注意力，没有什么可画。",
    nameOfUse: (name) => ({ encoder: "编码器", decoder: "解码器", cross: "交叉" })[name] ?? name,
    kindOf: "用途",
    layer: "层",
    head: "头",
    mean: "平均",
    meanHint: "所有头的平均",
    every: "全部",
    everyHint: "显示所有的头，每个头一种颜色",
    headHint: "点击：添加或移除；双击或 Shift+Enter：只看这一个，再次双击：全部",
    nameOfHead: (head) => `第 ${head + 1} 个头`,
    place: (layer, head) => `第 ${layer + 1} 层，第 ${head + 1} 个头`,
    listing: "；",
    mass: "只显示最强的",
    merge: "合并为整词",
    hide: "隐藏特殊符号",
    severalNote: (heads) =>
      `连线：第 ${heads.map((head) => head + 1).join("、")} 个头，每个头一种颜色；热图是它们的平均。`,
    mergeNote: "整词：对被查看的各片段求和，对查看的各片段取平均。",
    hideNote: "起始符、结束符和语言标签已略去，每行剩余的权重重新缩放，使总和为 1。",
    linesAxes: ({ from, at }) =>
      `${from === "source" ? "查看的源词元" : "正在写的词元"} → ${at === "source" ? "被查看的源词元" : "此前已写出的词元"}`,
    heatAxes: ({ from, at }) =>
      `${from === "source" ? "源词元" : "正在写的词元"} ↓ 查看${at === "source" ? "原文" : "此前已写出的"} →`,
    heatLabel: (kind) => `热图：${kind}。用方向键在格子间移动，按回车选择。`,
    heatHint: "点击格子可锁定所在的行。",
    openHint: "点击格子，或在其上按回车，查看这个数是怎样算出来的。",
    save: "保存为 PNG",
    masked: "被遮蔽",
    allHeads: "所有的头",
    allHeadsHint: "每层一行。数字表示这个头平均查看多少个词元。",
    changesHint: "横条越长，去掉这个头时译文损失越大。",
    entropy: (bits) => `平均查看 ${(2 ** bits).toFixed(1)} 个词元`,
    change: (value) => `去掉它，对数概率变化 ${signed(value)}`,
    besideTitle: (token) => `“${token}”看向哪里，又依据什么`,
    note: "注意力显示一个头在看哪里，它本身并不是对输出的解释；旁边的归因每次隐去一个词，说明正在写的词元因此失去多少。",
    lookedAt: (layer, heads) =>
      `看向：交叉注意力，第 ${layer + 1} 层，${
        heads === null ? "所有头的平均"
        : heads.length === 1 ? `第 ${heads[0] + 1} 个头`
        : `第 ${heads.map((head) => head + 1).join("、")} 个头的平均`}`,
    restsOn: "依据：隐去该词时失去的对数概率；蓝色支持正在写的词元，橙色反对",
    attributing: "正在计算归因……",
    notAttributed: (sentence) => `没有归因：${sentence}`,
    noAttribution: "这个页面没有计算归因。",
    cell: "一个权重的逐步计算",
    cellTitle: (from, to) => `“${from}”看向“${to}”`,
    looksMost: "它最关注这里",
    close: "关闭",
    opening: "正在计算……",
    notOpened: (sentence) => `无法打开这个格子：${sentence}`,
    query: (token) => `“${token}”的提问（查询）`,
    key: (token) => `“${token}”的回答（键）`,
    terms: (sum) => `逐个数；它们的和就是 ${sum}`,
    totals: {
      dot_product: "查询与键相乘：提问与回答方向越一致，数值越大。",
      additive: "由一个小网络来比较：查询与键相加，再由 v 权衡 tanh 之后的结果。",
    },
    scale: (root) => `除以 ${root.toFixed(2)}，以免长向量使 softmax 饱和。`,
    mask: "掩码",
    open: (count) => (count === 0 ? "这里没有遮蔽：每个词元都可以看。" : `可见。后面的 ${count} 个词元不能看。`),
    hidden: "被遮蔽：它在正在写的词元之后。",
    softmax: (own, total) => `与整行相比，各取 e 的（与最大值之差）次方：${own} 占 ${total}。`,
    nothing: "被遮蔽的位置权重为零。",
    row: "softmax 所作用的整行",
    lookedAtToken: "被查看",
  },
};

const PAGE = {
  en: {
    title: "How this translation came about",
    other: "中文",
    score: "score",
    logProb: "log-probability",
    perplexity: "perplexity per token",
    int8: "searched by the int8 engine, attention read from its float reference; log-probabilities differ by",
    keys: [["← →", "token"], ["⇧ ← →", "head"], ["⇧ ↑ ↓", "layer"], ["1 2 3", "use"], ["p", "play"]],
  },
  zh: {
    title: "这个译文是怎样产生的",
    other: "English",
    score: "得分",
    logProb: "对数概率",
    perplexity: "每个词元的困惑度",
    int8: "由 int8 引擎搜索，注意力读自其浮点孪生模型；两者的对数概率相差",
    keys: [["← →", "词元"], ["⇧ ← →", "头"], ["⇧ ↑ ↓", "层"], ["1 2 3", "用途"], ["p", "播放"]],
  },
};

export const attentionWords = (language) => ATTENTION[language];
export const pageWords = (language) => PAGE[language];
