// What the figures of measured claims say, in English and Chinese.

import { language } from "../state.js";

const dated = (on) => [on?.machine, on?.date].filter(Boolean).join(", ");

const WORDS = {
  en: {
    open: "Open a report.json of your own …",
    shipped: "The one that ships",
    refused: (file, name) => `${file} is not what “heedful study ${name}” writes: choose its report.json.`,
    measuredOn: (on, file) =>
      (file ? `Your own: ${file}${on ? ` (${dated(on)})` : ""}.` : `Measured on ${dated(on)}.`),
    complexity: {
      device: "device", width: "width", length: "length n", time: "milliseconds, forward and backward",
      memory: "megabytes at most",
      grows: "Measured: time grows as nᵃ · dᵇ; in brackets 95 % intervals. Beside it what the paper counts.",
      layer: "layer", paper: "the paper",
      met: (n) => `Self-attention is dearer than the recurrent layer from n = ${n} on.`,
      never: (n) => `Up to n = ${n} self-attention is never dearer than the recurrent layer.`,
      counted: (d) => `By multiplications alone it would be from n = ${d} on, the width.`,
      families: {
        attention: "self-attention", recurrent: "recurrent", convolution: "convolution",
        restricted: "restricted attention", projected: "self-attention with projections",
        unfused: "self-attention, unfused",
      },
    },
    race: {
      run: "Measure in this browser", running: "Measuring …", time: "milliseconds",
      about: "Both layers as plain sums of products, computed by your browser on one core; a few seconds.",
    },
    gradients: {
      distance: "positions between input and output", norm: "size of the gradient",
      layers: {
        "tanh, recurrent gain 0.8": "no gates, gain 0.8", "tanh, recurrent gain 1": "no gates, gain 1",
        "tanh, recurrent gain 3": "no gates, gain 3",
      },
    },
    lengths: {
      words: "tokens of the source", title: "Quality over the length of sentences",
      names: {
        "lesson-vector": "one vector", "lesson-attention": "recurrent with attention",
        "lesson-transformer": "Transformer",
      },
    },
    lessons: {
      read: "English", looks: "where it looks for each token",
      about: "Small translators that ship for these chapters, run by your server. Write a sentence of your own.",
      absent: "The small translators of this figure are not served here. `heedful serve` alone brings them.",
    },
    ablation: {
      title: "BLEU gained or lost when one thing is changed; full bars are beyond chance",
      labels: {},
    },
    multiplications: (n, d) =>
      `Attention multiplies n² · d = ${n * n * d} times, the recurrent layer n · d² = ${n * d * d}.`,
    factor: (value) => `Its factor is ${value}.`,
  },
  zh: {
    open: "打开您自己的 report.json……",
    shipped: "用自带的结果",
    refused: (file, name) => `${file} 不是 heedful study ${name} 写出的文件：请选择它的 report.json。`,
    measuredOn: (on, file) => (file ? `您自己的：${file}${on ? `（${dated(on)}）` : ""}。` : `测于 ${dated(on)}。`),
    complexity: {
      device: "设备", width: "宽度", length: "长度 n", time: "毫秒（前向加反向）", memory: "最多占用的兆字节",
      grows: "测得：时间按 nᵃ · dᵇ 增长；括号里是 95 % 区间。旁边是论文数出的运算次数。",
      layer: "层", paper: "论文",
      met: (n) => `从 n = ${n} 起，自注意力比循环层更贵。`,
      never: (n) => `直到 n = ${n}，自注意力都不比循环层贵。`,
      counted: (d) => `只数乘法的话，应当从 n = ${d}（即宽度）起。`,
      families: {
        attention: "自注意力", recurrent: "循环层", convolution: "卷积", restricted: "受限的注意力",
        projected: "带投影的自注意力", unfused: "自注意力（未融合）",
      },
    },
    race: {
      run: "在这个浏览器里测一测", running: "正在测……", time: "毫秒",
      about: "两种层都是老老实实的乘积之和，由您的浏览器用一个核计算；只要几秒钟。",
    },
    gradients: {
      distance: "输入与输出相隔的位置数", norm: "梯度的大小",
      layers: {
        "tanh, recurrent gain 0.8": "无门，增益 0.8", "tanh, recurrent gain 1": "无门，增益 1",
        "tanh, recurrent gain 3": "无门，增益 3", "self-attention": "自注意力", "LSTM, forget bias 1": "LSTM，遗忘偏置 1",
      },
    },
    lengths: {
      words: "源句的词元数", title: "句子长度与译文质量",
      names: { "lesson-vector": "一个向量", "lesson-attention": "循环网络加注意力", "lesson-transformer": "Transformer" },
    },
    lessons: {
      read: "英语", looks: "写每个词元时看哪里", about: "为这几章准备的小翻译模型，由您的服务器运行。写一句您自己的话试试。",
      absent: "这里没有运行这幅图要用的小翻译模型。不带 --model 运行 heedful serve，就有它们。",
    },
    ablation: {
      title: "改动一处，BLEU 增减多少；实色的条超出偶然",
      labels: {
        "no residual": "没有残差", "no warm-up": "没有预热", "no label smoothing": "没有标签平滑",
        "positions: none": "没有位置", "positions: learned": "位置：学出来的", "positions: sine only": "位置：只有正弦",
        "positions: concatenated": "位置：拼接", "BatchNorm for LayerNorm": "用 BatchNorm 代替 LayerNorm",
        "no √d on embeddings": "词嵌入不乘 √d", "no √d under scores": "得分不除以 √d",
      },
    },
    multiplications: (n, d) => `注意力要做 n² · d = ${n * n * d} 次乘法，循环层要做 n · d² = ${n * d * d} 次。`,
    factor: (value) => `它的因子是 ${value}。`,
  },
};

export const studyWords = () => WORDS[language()];
