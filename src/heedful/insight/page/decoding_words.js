// What the views of decoding say, in English and Chinese, and how they write numbers.

/** A log-probability as a percentage; what rounds to nothing is said to be small, not zero. */
export function percentOf(logProb) {
  const percent = 100 * Math.exp(logProb);
  return percent < 0.05 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

/** A number with a real minus sign; `plus` also for those above zero. */
export function minused(value, digits, plus = false) {
  const written = Math.abs(value).toFixed(digits);
  const isZero = Number(written) === 0;
  return (value < 0 && !isZero ? "−" : plus && !isZero ? "+" : "") + written;
}

const DECODING_WORDS = {
  en: {
    decoding: "Token by token",
    decodingHint: "What the model read and what it thought likely when it wrote each token.",
    play: "Play",
    pause: "Pause",
    step: "step",
    stepOf: (step, count) => `step ${step} of ${count}`,
    stepSaid: (step, count, token, percent) => `step ${step} of ${count}: “${token}”, ${percent}`,
    layer: "layer",
    head: "head",
    mean: "mean",
    output: "The translation, shaded by probability",
    forced: "chosen by you",
    kept: "kept",
    source: "The source, shaded by",
    byAttention: "cross-attention",
    byAttribution: "attribution",
    attributionHint: "what it loses when a word is hidden: blue speaks for the token being written, orange against it",
    attributing: "Computing the attribution …",
    written: "Written before, shaded by decoder self-attention",
    writtenBefore: "Written before",
    copied: "Copies of the source, shaded by decoder self-attention",
    likely: (step) => `Most probable tokens at step ${step}`,
    likelyHint: "Choose another one, and the translation goes on from there.",
    rank: "rank",
    probability: "probability",
    goOnWith: (token) => `continue from here with “${token}”`,
    goOn: "continue from here",
    beam: "The search",
    beamHint: (size) =>
      size === 1
        ? "Beam of 1: only the most probable token goes on; beside it stands what else was considered."
        : `Beam of ${size}: every candidate that was considered, best on top of each step.`,
    beamSize: "beam",
    treeHint: "Arrow keys go from candidate to candidate.",
    fates: { extended: "in the beam", pruned: "pruned", beaten: "beaten", finished: "the translation" },
    forcedNode: "given",
    forcedReason: "It was given, not chosen.",
    stepNumber: (step) => `step ${step}`,
    reason: {
      extended: (node) =>
        node.endedAt === null
          ? "It stayed in the beam."
          : `It stayed in the beam, but at step ${node.endedAt + 1} none of its continuations did.`,
      pruned: (node) => `Pruned at step ${node.endedAt + 1}: more probable candidates filled the beam.`,
      beaten: (node, best) =>
        node.isEnd
          ? `It ended, but its score is below that of the translation, ${minused(best.score, 3)}.`
          : "It was still open when the search knew that it could not win any more.",
      finished: () => "The translation: the best score of all that ended.",
    },
    facts: {
      logProb: "log-probability", together: "all tokens together", length: "length", penalty: "length penalty",
      score: "score",
    },
    goOnFromNode: "Continue from this hypothesis",
    formula: "A sum of log-probabilities falls with every token, so it is divided by a penalty that grows with length:",
  },
  zh: {
    decoding: "逐个词元",
    decodingHint: "写每个词元时，模型读了什么，认为什么最可能。",
    play: "播放",
    pause: "暂停",
    step: "步",
    stepOf: (step, count) => `第 ${step} 步，共 ${count} 步`,
    stepSaid: (step, count, token, percent) => `第 ${step} 步，共 ${count} 步：“${token}”，${percent}`,
    layer: "层",
    head: "头",
    mean: "平均",
    output: "译文，按概率着色",
    forced: "由您选定",
    kept: "保持不变",
    source: "原文，着色依据",
    byAttention: "交叉注意力",
    byAttribution: "归因",
    attributionHint: "隐去该词时它失去的对数概率：蓝色支持正在写的词元，橙色反对",
    attributing: "正在计算归因……",
    written: "此前已写出，按解码器自注意力着色",
    writtenBefore: "此前已写出的",
    copied: "原文的副本，按解码器自注意力着色",
    likely: (step) => `第 ${step} 步最可能的词元`,
    likelyHint: "换一个词元，译文就从那里继续。",
    rank: "名次",
    probability: "概率",
    goOnWith: (token) => `用“${token}”从这里继续`,
    goOn: "从这里继续",
    beam: "搜索",
    beamHint: (size) =>
      size === 1
        ? "束宽 1：只有最可能的词元继续，旁边是其他考虑过的候选。"
        : `束宽 ${size}：考虑过的所有候选，每一步最好的在最上面。`,
    beamSize: "束宽",
    treeHint: "用方向键在候选之间移动。",
    fates: { extended: "留在束中", pruned: "剪去", beaten: "落败", finished: "译文" },
    forcedNode: "给定",
    forcedReason: "它是给定的，不是选出的。",
    stepNumber: (step) => `第 ${step} 步`,
    reason: {
      extended: (node) =>
        node.endedAt === null ? "它留在束中。" : `它留在束中，但到第 ${node.endedAt + 1} 步，它的后续都没能留下。`,
      pruned: (node) => `在第 ${node.endedAt + 1} 步被剪去：更可能的候选占满了束。`,
      beaten: (node, best) =>
        node.isEnd ? `它已结束，但得分低于译文的 ${minused(best.score, 3)}。` : "搜索确定它不可能再胜出时，它尚未结束。",
      finished: () => "译文：所有已结束的候选中得分最高。",
    },
    facts: { logProb: "对数概率", together: "全部词元合计", length: "长度", penalty: "长度惩罚", score: "得分" },
    goOnFromNode: "从这个假设继续",
    formula: "对数概率之和随每个词元下降，因此要除以随长度增长的惩罚：",
  },
};

export const decodingWords = (language) => DECODING_WORDS[language];
