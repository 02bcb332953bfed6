// Chapter: from an exact look-up to a soft one (SPEC 3.2 and 3.3).

export const chapter = {
  name: "lookup",
  title: { en: "Key and value: a soft look-up", zh: "键与值：软查找" },
  steps: [
    {
      say: {
        en:
          "A dictionary in a program holds pairs: a key to look for, a value to be handed over. Here the keys " +
          "are hours at which a thermometer was read, the values what it showed. Whoever asks for 12 o'clock " +
          "gets that value. Whoever asks for 13 o'clock gets nothing: there is no such key.",
        zh: "程序里的字典存的是成对的东西：键用来查找，值是查到后交出的内容。这里的键是读温度计的钟点，值是当时的温度。问 12 点，就得到那个值；问 13 点，什么也得不到，因为没有这个键。",
      },
      figure: { kind: "lookup", hour: 12, sharpness: 80 },
    },
    {
      say: {
        en:
          "A soft look-up always answers. The query is compared with every key by a dot product, the softmax " +
          "turns the products into weights, and the answer is the sum of all values, each as much as its weight " +
          "says. At 13 o'clock that is something between the values of 12 and 15. Hours are lists of two numbers " +
          "here: where the hand of a clock with 24 hours points.",
        zh: "软查找总有回答。查询用点积与每个键比较，softmax 把点积变成权重，回答就是所有的值按权重相加。问 13 点，得到的介于 12 点和 15 点的值之间。这里每个钟点是两个数：24 小时的钟上指针所指的方向。",
      },
      formula: "attention",
      figure: { kind: "lookup", hour: 13, sharpness: 20 },
    },
    {
      say: {
        en:
          "The longer the query, the larger the products, and the sharper the choice: in the end all of the " +
          "weight is on the nearest key, and the look-up is the exact one again. A network learns how sharp it " +
          "wants to be.",
        zh: "查询越长，点积越大，选择就越尖锐：到最后全部权重都落在最近的键上，又成了精确的查找。想要多尖锐，由网络自己学。",
      },
      figure: { kind: "lookup", hour: 13, sharpness: 60 },
    },
    {
      exercise: {
        kind: "lookedUp",
        ask: {
          en: () => "And with a query of length 0: what does it find, whatever the hour?",
          zh: () => "如果查询的长度是 0，无论问几点，会查到什么？",
        },
        figure: { kind: "lookup", hour: 13, sharpness: 0 },
      },
    },
    {
      say: {
        en:
          "Why two lists for each token? What makes a token worth looking at need not be what it has to say. " +
          "Here an hour is what is compared, and a temperature is what is found.",
        zh: "为什么每个词元要有两组数？值得一看的理由，和它要说的内容，不必是一回事。在这里，拿来比较的是钟点，查到的是温度。",
      },
    },
  ],
};
