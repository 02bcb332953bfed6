// Chapter: the whole model (SPEC 4.3 to 4.6).

const CAR = { text: "Yesterday I bought a red car.", target: "de" };

export const chapter = {
  name: "stack",
  title: { en: "Encoder and decoder, whole", zh: "完整的编码器和解码器" },
  steps: [
    {
      say: {
        en:
          "Now everything can be put together. A layer of the encoder has two parts: self-attention, where tokens " +
          "hear from each other, and a feed-forward network, where each thinks by itself. The same feed-forward " +
          "network serves every position of a layer.",
        zh: "现在可以把一切拼起来了。编码器的一层有两部分：自注意力让词元互相听取消息，前馈网络让每个词元各自思考。同一层里，所有位置用的是同一个前馈网络。",
      },
      figure: { kind: "stack", ...CAR },
    },
    {
      say: {
        en:
          "A layer of the decoder has three: self-attention with the mask, attention to the source, and the " +
          "feed-forward network. Every layer of the decoder looks at what the last layer of the encoder made.",
        zh: "解码器的一层有三部分：带掩码的自注意力、对原文的注意力、前馈网络。解码器的每一层看的都是编码器最后一层的结果。",
      },
    },
    {
      say: {
        en:
          "Each part has two helpers. Its input is added to its output, so that nothing gets lost and the learning " +
          "signal finds its way down. And the numbers of each position are brought to a common scale. In the paper " +
          "this normalisation comes after the sum; many models, the bundled one among them, normalise before each " +
          "part instead, which is easier to train.",
        zh:
          "每一部分外面还有两个帮手。一是把输入加到输出上，这样信息不会丢，学习的信号也能一路传到底层。二是把每个位置的数调整到统一的尺度。论文把归一化放在相加之后；许多模型，包括自带的这一个，改在每一部分之前归一化，" +
          "这样更容易训练。",
      },
      formula: "sublayer",
    },
    {
      exercise: {
        kind: "decoderRuns",
        ask: {
          en: () =>
            "The encoder ran once for this sentence. How many steps does the decoder need for the translation that " +
            "was found, its end symbol included?",
          zh: () => "编码器为这个句子运行了一次。算上结束符，写出最后选定的译文，解码器要走几步？",
        },
        figure: { kind: "stack", ...CAR },
      },
    },
    {
      say: {
        en:
          "At the top a last matrix turns the numbers of the newest position into a score for every token of the " +
          "vocabulary, and a softmax makes them probabilities. Often, and in the bundled model too, that matrix is " +
          "the table of embeddings again: what says what a token means also recognises it.",
        zh: "最顶上，最后一个矩阵把最新位置的那组数变成词表中每个词元的分数，softmax 再把它们变成概率。这个矩阵常常就是词嵌入表本身，自带的模型也是这样：同一张表既说明词元的意思，又用来认出它。",
      },
      figure: { kind: "sequence", ...CAR, step: 4 },
    },
  ],
};
