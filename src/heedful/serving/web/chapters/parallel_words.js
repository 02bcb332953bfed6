// What the figures of the chapter on more than one token at a time say, in English and Chinese.

import { language } from "../state.js";

const WORDS = {
  en: {
    saved: ({ tokens, passes, saved }) => (saved === 0
      ? `${tokens} tokens in ${passes} passes: none was saved.`
      : `${tokens} tokens in ${passes} passes: ${saved} were saved.`),
    noGuesses: "This model reads one token at a time: there is nothing that guesses could save.",
    kept: (count) => `The model writes the same for ${count} of them.`,
    positions: "What the positions say",
    collapsedTo: (text) => (text ? `Collapsed, that is “${text}”.` : "Collapsed, nothing is left."),
    fates: { written: "written", repeat: "repeats its neighbour: merged", blank: "blank: dropped" },
    small: "A translator of 0.3 MB that has learned sentences of a small grammar. Change numbers, things and colours.",
    absent: "The small translator of this chapter is there when the server is started without --model.",
    read: "Sentence",
  },
  zh: {
    saved: ({ tokens, passes, saved }) => (saved === 0
      ? `${tokens} 个词元用了 ${passes} 遍，一遍也没有省下。` : `${tokens} 个词元用了 ${passes} 遍，省下 ${saved} 遍。`),
    noGuesses: "这个模型一次读一个词元，猜测省不下什么。",
    kept: (count) => `其中 ${count} 个与模型写的相同。`,
    positions: "各个位置说的",
    collapsedTo: (text) => (text ? `合并之后是“${text}”。` : "合并之后什么也不剩。"),
    fates: { written: "写出", repeat: "与相邻的重复：合并", blank: "空白：去掉" },
    small: "一个 0.3 MB 的翻译器，学的是一套小语法的句子。可以换数字、东西和颜色。",
    absent: "不带 --model 启动服务器时，才有本章的小翻译器。",
    read: "句子",
  },
};

export const parallelWords = () => WORDS[language()];
