// What the figures and the frame of the chapters say, in English and Chinese; each chapter brings its own text.

import { language } from "../state.js";

/** A number as it is printed, with a minus that is one. */
export const decimal = (value, digits = 2) => value.toFixed(digits).replace("-", "−");

/** A part of a whole; just below the whole it does not pass for it. */
const percent = (part) => `${decimal(100 * part, part > 0.99 && part < 0.9995 ? 1 : 0)}\u00a0%`;

const WORDS = {
  en: {
    chapters: "Chapters",
    chapter: (number, count) => `Chapter ${number} of ${count}`,
    next: (title) => `Next: ${title}`,
    previous: "Back",
    showStep: (number) => `Show the figure of paragraph ${number}`,
    keys: [["n", "next chapter"], ["b", "chapter before"], ["j k", "paragraph"]],
    loading: "Asking the model …",
    failed: (sentence) => `This figure cannot be drawn: ${sentence}`,
    noSuchUse:
      "This figure shows a part of a Transformer that the chosen model does not have. `heedful serve` alone brings " +
      "one that has it.",
    noTranslator:
      "This figure looks into a translation model, and the server has none. `heedful serve` alone brings one.",
    otherModel:
      "The text speaks of an English sentence put into German. Your model does not translate that, " +
      "so the figures show your own sentence.",
    openIn: (view) => `Open in the view “${view}”`,
    figure: "Figure",
    stop: ". ",
    place: ({ kind, layer, head }) =>
      `${WORDS.en.nameOfUse(kind)}, layer ${layer + 1}, ${head < 0 ? "mean of all heads" : `head ${head + 1}`}`,
    looks: (from, to, weight) => `“${from}” looks at “${to}” with a weight of ${decimal(weight)}.`,
    hoverRow: "Point at a token on the left, or step to it with Tab, to see where it looks.",
    rules: {
      bestAligning: "the word being translated", mostPrevious: "the token before", mostNext: "the token after",
      mostFirst: "the first token", mostEnd: "the end symbol", mostSpread: "everything a little",
    },
    clear: (what, part) => `No head looks more at ${what}: ${percent(part)} of its weight is there.`,
    unclear: (what, part) =>
      `No head of this model really looks at ${what}; this one does most, with ${percent(part)} of its weight.`,
    even: (part) => `It is the most evenly spread of all: ${percent(part)} of what looking everywhere alike would be.`,
    sides: ({ from, at }) => [
      from === "source" ? "source token that looks" : "token being written",
      at === "source" ? "source token looked at" : "written before",
    ],
    read: "Read", written: "Written so far", likely: "Most probable next tokens", start: "start",
    stepOf: (step, count) => `Step ${step} of ${count}`,
    stepLabel: "step",
    cell: {
      row: (token) => `The row of “${token}”`, score: "q·k ÷ √d", raw: "q·k", weight: "weight",
      scaled: "divided by √d", unscaled: "not divided", dim: (dim) => `d = ${dim}, √d = ${Math.sqrt(dim).toFixed(1)}. `,
      masked: "−∞", top: (token, weight) => `“${token}” gets ${percent(weight)} of the weight.`,
    },
    grid: (kind) => `${WORDS.en.nameOfUse(kind)}, all heads, one row for each layer`,
    nameOfUse: (name) => ({ encoder: "Encoder", decoder: "Decoder", cross: "Cross-attention" })[name] ?? name,
    find: "Find the head that looks at",
    positions: {
      table: "The table of positions", wave: "Two dimensions of the table", similarity: "How alike two positions are",
      is: (what, kind) => `${what}, ${kind}.`,
      sines: "every second dimension, the sines",
      position: "position", dimension: "dimension", none: "This model has no table of positions.",
      kinds: { sinusoidal: "computed from sines and cosines", learned: "learned with everything else" },
      alike: (first, second, value) => `Positions ${first} and ${second}: ${decimal(value)}`,
      slow: "a slow one", fast: "a fast one",
    },
    order: "The same words, in two orders",
    stack: {
      encoder: (count) => `Encoder: ${count} layers, run once`,
      decoder: (count) => `Decoder: ${count} layers, run for each token`,
      attention: (from, at) =>
        from !== at ? "cross-attention" : from === "source" ? "self-attention" : "masked self-attention",
      feedForward: "feed-forward",
      embedding: "embedding + positions", output: "projection, softmax",
      toDecoder: "What the encoder made goes to every layer of the decoder.",
    },
    loss: {
      reference: "Reference", token: "reference token", loss: "loss",
      total: (mean) => `Mean loss: ${decimal(mean)} per token.`, smoothing: "Label smoothing ε",
      target: "The distribution the loss asks for at this place.",
      others: (count) => `each of the other ${count.toLocaleString("en")}`,
    },
    schedule: {
      warmUp: "warm-up", steps: "steps", rate: "learning rate",
      peak: (rate, step) => `Its peak, ${rate}, is at step ${step}.`,
    },
    search: {
      greedy: "Greedy", beam: (size) => `Beam of ${size}`, sum: "log-probability", firstDifference: "They part here",
      same: "Here both find the same translation.", better: (gap) => `The beam's is more probable by ${decimal(gap)}.`,
      tokens: "tokens", score: "score", alpha: "length penalty α", candidate: "ended candidate",
      best: (text) => `At this α the best is “${text}”.`,
    },
    pooling: {
      flow: [
        "blocks of attention and feed-forward: one list of numbers for each word",
        "the average of all lists: one list for the text", "a matrix and a softmax: a probability for each label",
      ],
      label: "label",
      served: (label, part) => `The classifier you serve says “${label}”, ${percent(part)}.`,
      absent: "Serve a classifier of your own (heedful serve --model DIR) to see it decide here.",
    },
    temperature: {
      label: "temperature",
      among: (count) => `How often each of the ${count} most probable tokens would be drawn, if only they could be.`,
    },
    memory: {
      layers: "layers", segment: "symbols in a segment",
      now: "read now", kept: "kept from before", forgotten: "out of reach",
      reach: (count) => `Through its layers the last symbol can hear from ${count} symbols before the segment.`,
    },
    digits: {
      read: "Read", exact: "written without a fault", end: "</s>",
      networks: { vector: "With its last state alone it writes", attention: "Looking back it writes" },
      right: "(all right)", wrong: (count) => `(${count} wrong)`,
      long: (length) => `${length} ${length === 1 ? "digit" : "digits"}`, looks: "where it looks for each digit",
      typed: "Networks with a state of 32 numbers, run by your browser. Type up to twelve digits.",
      measured: "How many of 500 unseen sequences of each length are written without a fault.",
    },
    taste: {
      film: "film", films: ["The Chase", "The Wedding", "The Farce", "The Siege"], comma: ", ",
      qualities: ["action", "romance", "humour"], likes: (quality) => `likes ${quality}`, sum: "dot product",
      best: (film, sum) => `Recommended: ${film}, with a dot product of ${sum}.`,
      sumIs: (sum) => `Its dot product is ${sum}.`,
    },
    lookup: {
      key: "key", value: "value", weight: "weight", query: "query", length: "length of the query",
      hour: (hour) => `${Math.floor(hour)}:${hour % 1 ? "30" : "00"}`,
      found: (hour, value) => `Asked for ${WORDS.en.lookup.hour(hour)}, it finds ${value} °C.`,
    },
    circle: {
      position: "position", distance: "distance",
      one: (position) => `Position ${position} on one wave of the table; a turn takes 26.5 positions.`,
      both: (later, sine, rotated) =>
        `The sine of position ${later} is ${sine}; from sine and cosine of the first one, turned, it is ${rotated}.`,
      are: (sine, cosine) => `Its sine is ${sine}, its cosine ${cosine}.`,
    },
    worth: {
      title: "What the translation loses without each head; one row for each layer",
      change: (value) => `log-probability ${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}`,
      most: ({ place, change }) => `It loses most without this one: ${place}, ${change}.`,
    },
    exercise: "Before you go on",
    right: (said) => `That is right. ${said}`,
    wrong: (said) => `No. ${said} Try again.`,
    covered: "The figure shows itself when you have answered.",
    weightIs: (weight) => `It gets ${percent(weight)} of the weight.`,
    probabilityIs: (part) => `The model gave it ${percent(part)}.`,
    lossIs: (loss) => `Its loss is ${decimal(loss)}.`,
    withoutIt: (change) => `Without it: ${change}.`,
    yes: "yes", no: "no",
  },
  zh: {
    chapters: "章节",
    chapter: (number, count) => `第 ${number} 章，共 ${count} 章`,
    next: (title) => `下一章：${title}`,
    previous: "上一章",
    showStep: (number) => `显示第 ${number} 段的图`,
    keys: [["n", "下一章"], ["b", "上一章"], ["j k", "段落"]],
    loading: "正在询问模型……",
    failed: (sentence) => `无法画出这幅图：${sentence}`,
    noSuchUse: "这幅图展示 Transformer 的一个部分，所选的模型没有。不带 --model 运行 heedful serve，自带的模型就有。",
    noTranslator: "这幅图要查看翻译模型的内部，但服务器上没有翻译模型。不带 --model 运行 heedful serve，就有一个自带的。",
    otherModel: "正文讲的是一句英语译成德语。您的模型不做这个方向的翻译，所以图里用的是您自己的句子。",
    openIn: (view) => `在“${view}”视图中打开`,
    figure: "图",
    stop: "。",
    place: ({ kind, layer, head }) =>
      `${WORDS.zh.nameOfUse(kind)}第 ${layer + 1} 层，${head < 0 ? "所有头的平均" : `第 ${head + 1} 个头`}`,
    looks: (from, to, weight) => `“${from}”看着“${to}”，权重 ${decimal(weight)}。`,
    hoverRow: "把指针移到左边的词元上，或用 Tab 键走到它，就能看到它在看哪里。",
    rules: {
      bestAligning: "正在翻译的那个词", mostPrevious: "前一个词元", mostNext: "后一个词元",
      mostFirst: "第一个词元", mostEnd: "结束符", mostSpread: "各处都看一点",
    },
    clear: (what, part) => `没有哪个头比它更多地看${what}：它有 ${percent(part)} 的权重放在那里。`,
    unclear: (what, part) => `这个模型里没有哪个头真正盯着${what}；这一个看得最多，占它权重的 ${percent(part)}。`,
    even: (part) => `它是看得最分散的一个：达到完全平均时的 ${percent(part)}。`,
    sides: ({ from, at }) => [
      from === "source" ? "在看的源词元" : "正在写的词元",
      at === "source" ? "被看的源词元" : "此前已写出的",
    ],
    read: "读到的", written: "已经写出的", likely: "最可能的下一个词元", start: "开始",
    stepOf: (step, count) => `第 ${step} 步，共 ${count} 步`,
    stepLabel: "步",
    cell: {
      row: (token) => `“${token}”这一行`, score: "q·k ÷ √d", raw: "q·k", weight: "权重",
      scaled: "除以 √d", unscaled: "不除", dim: (dim) => `d = ${dim}，√d = ${Math.sqrt(dim).toFixed(1)}。`,
      masked: "−∞", top: (token, weight) => `“${token}”得到 ${percent(weight)} 的权重。`,
    },
    grid: (kind) => `${WORDS.zh.nameOfUse(kind)}的所有头，每层一行`,
    nameOfUse: (name) => ({ encoder: "编码器", decoder: "解码器", cross: "交叉注意力" })[name] ?? name,
    find: "哪个头最常看",
    positions: {
      table: "位置表", wave: "位置表中的两维", similarity: "两个位置有多相像",
      is: (what, kind) => `${what}（位置表${kind}）。`,
      sines: "每隔一维取一维，即正弦",
      position: "位置", dimension: "维", none: "这个模型没有位置表。",
      kinds: { sinusoidal: "由正弦和余弦算出", learned: "和其他参数一起学出来" },
      alike: (first, second, value) => `位置 ${first} 与 ${second}：${decimal(value)}`,
      slow: "慢的一维", fast: "快的一维",
    },
    order: "同样的词，两种顺序",
    stack: {
      encoder: (count) => `编码器：${count} 层，只运行一次`, decoder: (count) => `解码器：${count} 层，每写一个词元运行一次`,
      attention: (from, at) => (from !== at ? "交叉注意力" : from === "source" ? "自注意力" : "带掩码的自注意力"),
      feedForward: "前馈网络",
      embedding: "词嵌入 + 位置", output: "线性投影，softmax", toDecoder: "编码器的结果送到解码器的每一层。",
    },
    loss: {
      reference: "参考译文", token: "参考译文的词元", loss: "损失",
      total: (mean) => `平均损失：每个词元 ${decimal(mean)}。`, smoothing: "标签平滑 ε",
      target: "损失在这个位置上所要求的分布。", others: (count) => `其余 ${count.toLocaleString("zh")} 个，每个`,
    },
    schedule: {
      warmUp: "预热", steps: "步", rate: "学习率", peak: (rate, step) => `最高点在第 ${step} 步，为 ${rate}。`,
    },
    search: {
      greedy: "贪心", beam: (size) => `束宽 ${size}`, sum: "对数概率", firstDifference: "从这里分开",
      same: "这一句两种方法找到的译文相同。", better: (gap) => `束搜索的译文对数概率高出 ${decimal(gap)}。`,
      tokens: "词元数", score: "得分", alpha: "长度惩罚 α", candidate: "已结束的候选",
      best: (text) => `在这个 α 下，最好的是“${text}”。`,
    },
    pooling: {
      flow: ["注意力与前馈网络：每个词一组数", "所有词的平均：整段文字一组数", "一个矩阵和 softmax：每个标签一个概率"],
      label: "标签",
      served: (label, part) => `您部署的分类器判断为“${label}”，${percent(part)}。`,
      absent: "部署一个您自己的分类器（heedful serve --model 目录），就能在这里看它怎样判断。",
    },
    temperature: { label: "温度", among: (count) => `如果只从最可能的 ${count} 个词元里抽，每个会有多常被抽到。` },
    memory: {
      layers: "层数", segment: "每段的符号数", now: "正在读", kept: "留下的记忆", forgotten: "够不到了",
      reach: (count) => `经过各层的传递，最后一个符号能听到本段之前 ${count} 个符号的消息。`,
    },
    digits: {
      read: "读到的", exact: "一个不错地写出", end: "</s>",
      networks: { vector: "只有最后的状态，它写出", attention: "能回头看，它写出" },
      right: "（全对）", wrong: (count) => `（错 ${count} 个）`, long: (length) => `${length} 个数字`,
      looks: "写每个数字时看哪里", typed: "状态为 32 个数的网络，由您的浏览器运行。最多可输入十二个数字。",
      measured: "每种长度 500 串没见过的数字里，一个不错地写出来的有多少。",
    },
    taste: {
      film: "电影", films: ["《追逐》", "《婚礼》", "《闹剧》", "《围城之战》"], comma: "、",
      qualities: ["动作", "爱情", "幽默"], likes: (quality) => `喜欢${quality}`, sum: "点积",
      best: (film, sum) => `推荐${film}，点积为 ${sum}。`, sumIs: (sum) => `它的点积是 ${sum}。`,
    },
    lookup: {
      key: "键", value: "值", weight: "权重", query: "查询", length: "查询的长度",
      hour: (hour) => `${Math.floor(hour)}:${hour % 1 ? "30" : "00"}`,
      found: (hour, value) => `问 ${WORDS.zh.lookup.hour(hour)}，查到 ${value} °C。`,
    },
    circle: {
      position: "位置", distance: "距离",
      one: (position) => `位置表中一个波上的位置 ${position}；转一圈要 26.5 个位置。`,
      both: (later, sine, rotated) => `位置 ${later} 的正弦是 ${sine}；由前一个位置的正弦和余弦转过去算，得 ${rotated}。`,
      are: (sine, cosine) => `它的正弦是 ${sine}，余弦是 ${cosine}。`,
    },
    worth: {
      title: "去掉每个头，译文各损失多少；每层一行",
      change: (value) => `对数概率 ${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}`,
      most: ({ place, change }) => `去掉这一个损失最大：${place}，${change}。`,
    },
    exercise: "往下读之前，先想一想",
    right: (said) => `答对了。${said}`,
    wrong: (said) => `不对。${said}再试一次。`,
    covered: "回答之后，图才会出现。",
    weightIs: (weight) => `它得到 ${percent(weight)} 的权重。`,
    probabilityIs: (part) => `模型给它的概率是 ${percent(part)}。`,
    lossIs: (loss) => `它的损失是 ${decimal(loss)}。`,
    withoutIt: (change) => `去掉它：${change}。`,
    yes: "是", no: "不是",
  },
};

export const chapterWords = () => WORDS[language()];

/** One of the two sides of a text that stands in a chapter. */
export const inLanguage = (text) => text[language()];
