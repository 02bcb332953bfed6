// What the frame of the page says, in English and Chinese; each view brings its own words.

import { language } from "./state.js";

const WORDS = {
  en: {
    tagline: "the Transformer, whole and open",
    views: {
      translate: "Translate", attention: "Attention", decoding: "Decoding", positions: "Positions", heads: "Heads",
      training: "Training", learn: "Learn", labels: "Classify", writing: "Write",
    },
    skip: "To the content",
    other: "中文",
    model: "Model",
    api: "API",
    starting: "Asking the server …",
    noServer: (sentence) => `The server does not answer as it should: ${sentence}`,
    again: "Try again",
    sentence: "Sentence",
    sentenceOf: (number, count) => `Sentence ${number} of ${count}`,
    from: "from",
    to: "to",
    detect: "detect",
    swap: "Swap the languages",
    tracing: "Looking inside …",
    nothing: "Type a sentence to see inside the model.",
    failed: (sentence) => `This cannot be shown: ${sentence}`,
    refusal: (_, sentence) => sentence,
    forced: (token, step) =>
      `goes on from “${token}”, which you chose at step ${step}${step === 1 ? "" : "; what stands before it was kept"}`,
    another: "another translation than the model's own, chosen by you: the model is made to write it",
    free: "let the model choose again",
    atOnce: "This model writes all positions at once: it has no steps to look from. How it writes is shown in",
    withTerms: (count) => `held to your ${count === 1 ? "term" : `${count} terms`}: the tree marks what was given`,
    withoutTerms: "let the model choose its own words",
    atCheckpoint: (run, step) => `as the run “${run}” translated at step ${step}`,
    finished: "back to the finished model",
    keys: { "[ ]": "view", "← →": "token", "⇧ ← →": "head", "⇧ ↑ ↓": "layer", "1 2 3": "use", p: "play" },
  },
  zh: {
    tagline: "完整、透明的 Transformer",
    views: {
      translate: "翻译", attention: "注意力", decoding: "解码", positions: "位置", heads: "注意力头",
      training: "训练", learn: "学习", labels: "分类", writing: "续写",
    },
    skip: "跳到正文",
    other: "English",
    model: "模型",
    api: "接口",
    starting: "正在询问服务器……",
    noServer: (sentence) => `服务器没有正常应答：${sentence}`,
    again: "重试",
    sentence: "句子",
    sentenceOf: (number, count) => `第 ${number} 句，共 ${count} 句`,
    from: "从",
    to: "译成",
    detect: "自动识别",
    swap: "交换语言",
    tracing: "正在查看模型内部……",
    nothing: "输入一个句子，看看模型内部发生了什么。",
    failed: (sentence) => `无法显示：${sentence}`,
    refusal: (status, sentence) => {
      const limit = sentence.match(/at most ([\d,]+) characters/)?.[1];
      if (limit) return `最多 ${limit} 个字符。`;
      if (status === 429 || status === 503) return "目前忙不过来，请稍后再试。";
      return status === 500 ? "内部出错，详情见服务器日志。" : sentence;
    },
    forced: (token, step) => `从您在第 ${step} 步选定的“${token}”继续${step === 1 ? "" : "，之前的词元保持不变"}`,
    another: "这是您选定的另一个译文，不是模型自己的选择：模型被要求写出它",
    free: "让模型重新选择",
    atOnce: "这个模型一次写出所有位置，没有逐步的注意力可看。它怎样写，请看",
    withTerms: (count) => `按您的 ${count} 个术语翻译：树中标出了给定的词元`,
    withoutTerms: "让模型自己选词",
    atCheckpoint: (run, step) => `训练“${run}”第 ${step} 步时的译文`,
    finished: "回到训练完成的模型",
    keys: { "[ ]": "视图", "← →": "词元", "⇧ ← →": "头", "⇧ ↑ ↓": "层", "1 2 3": "用途", p: "播放" },
  },
};

export const words = () => WORDS[language()];
