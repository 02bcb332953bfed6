// What the view "heads" says, in English and Chinese.

import { attentionWords } from "/insight/words.js";
import { language } from "../state.js";

const SIDES = { en: { source: "source", target: "translation" }, zh: { source: "原文", target: "译文" } };

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
const times = (change) => Math.exp(Math.abs(change)).toFixed(Math.abs(change) < 2.3 ? 2 : 0);
const plain = (value) => String(value.toFixed(3)).replace("-", "−");

const HEADS_WORDS = {
  en: {
    title: "What is each head good for?",
    lead: "Switch heads off and see what the model makes of the sentence without them.",
    nameOfUse: attentionWords("en").nameOfUse,
    looks: ({ from, at }) =>
      from === at && at === "target" ? "translation looks at itself" : `${SIDES.en[from]} looks at ${SIDES.en[at]}`,
    noHeads: "This model has no heads to switch off: nothing in it is attention.",
    lacking: (sides) =>
      `There is no attention inside ${sides.map((side) => `the ${SIDES.en[side]}`).join(" and ")}: this model reads ` +
      "one token after the other, and has no heads there to switch off.",
    name: (kind, layer, head) => `${kind}, layer ${layer}, head ${head}`,
    short: (kind, layer, head) => `${kind} ${layer}.${head}`,
    layer: (layer) => `layer ${layer}`,
    headNumber: "head",
    toggleLayer: (kind, layer) => `All heads of ${kind}, layer ${layer}`,
    whole: "The whole model",
    without: (count) => (count === 1 ? "Without one head" : `Without ${count} heads`),
    nothingOff: "All heads are on. Click any of them below, or a layer's name, to switch it off.",
    computing: "Translating without them …",
    logProb: (value) => `log-probability ${plain(value)}`,
    oldLogProb: (value, change) => `the first translation now has ${plain(value)} (${signed(change)})`,
    same: "It still writes the same.",
    lost: (change) =>
      `It now thinks its first translation ${times(change)} times less probable: these heads were of use.`,
    won: (change) =>
      `It now thinks its first translation ${times(change)} times more probable: here these heads were in the way.`,
    none: "Nothing changes: for this sentence it does not need them.",
    failed: (sentence) => `This cannot be computed: ${sentence}`,
    allOn: "Switch all on",
    halfOff: (count) => `Switch off the ${count} least needed`,
    on: (name) => `Switch ${name} on again`,
    grid: "All heads",
    gridHint: "Where each head looks, what the translation loses without it, and how many tokens it looks at.",
    weighing: "Weighing every head by itself …",
    useful: "of use: the translation is less probable without it",
    harmful: "in the way: more probable without it",
    entropy: (bits) => `${bits.toFixed(2)} bits, looks at ${(2 ** bits).toFixed(1)} tokens on average`,
    change: (value) => `without it alone, the log-probability changes by ${signed(value)}`,
    hint: "Point at a head for its numbers. Arrow keys move, the space bar switches.",
    listing: "; ",
    important: "The heads this sentence needs most",
    importantHint: "By how much the log-probability of the translation falls without each, alone.",
    value: signed,
  },
  zh: {
    title: "每个头有什么用？",
    lead: "关掉一些头，看看没有它们，模型会怎样翻译这个句子。",
    nameOfUse: attentionWords("zh").nameOfUse,
    looks: ({ from, at }) => `${SIDES.zh[from]}看${SIDES.zh[at]}`,
    noHeads: "这个模型没有可以关掉的头：它不使用注意力。",
    lacking: (sides) => `${sides.map((side) => SIDES.zh[side]).join("和")}内部没有注意力：这个模型逐个词元地读，那里没有可以关掉的头。`,
    name: (kind, layer, head) => `${kind}第 ${layer} 层第 ${head} 头`,
    short: (kind, layer, head) => `${kind} ${layer}.${head}`,
    layer: (layer) => `第 ${layer} 层`,
    headNumber: "头",
    toggleLayer: (kind, layer) => `${kind}第 ${layer} 层的所有头`,
    whole: "完整的模型",
    without: (count) => `关掉 ${count} 个头`,
    nothingOff: "所有头都开着。点下面任何一个头，或点层的名字，就可以关掉。",
    computing: "正在重新翻译……",
    logProb: (value) => `对数概率 ${plain(value)}`,
    oldLogProb: (value, change) => `原来的译文现在是 ${plain(value)}（${signed(change)}）`,
    same: "译文没有变。",
    lost: (change) => `模型认为原来的译文可能性降为 1/${times(change)}：这些头是有用的。`,
    won: (change) => `模型认为原来的译文可能性升为 ${times(change)} 倍：在这里这些头反而碍事。`,
    none: "没有变化：这个句子用不到它们。",
    failed: (sentence) => `无法计算：${sentence}`,
    allOn: "全部打开",
    halfOff: (count) => `关掉最用不到的 ${count} 个`,
    on: (name) => `重新打开${name}`,
    grid: "所有的头",
    gridHint: "每幅小图是一个头在看哪里。下方是没有它时译文的损失，以及它平均看几个词元。",
    weighing: "正在逐个衡量每个头……",
    useful: "有用：没有它，译文的概率变小",
    harmful: "碍事：没有它，概率反而变大",
    entropy: (bits) => `${bits.toFixed(2)} 比特，平均看 ${(2 ** bits).toFixed(1)} 个词元`,
    change: (value) => `只关掉它，对数概率变化 ${signed(value)}`,
    hint: "指向一个头即可看到数值。方向键移动，空格键开关。",
    listing: "；",
    important: "这个句子最需要的头",
    importantHint: "单独关掉每个头时，译文的对数概率下降多少。",
    value: signed,
  },
};

export const words = () => HEADS_WORDS[language()];
