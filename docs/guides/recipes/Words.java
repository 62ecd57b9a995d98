import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Maps texts to word ids: java Words.java VOCABULARY TEXT ... (VOCABULARY has the JSON file's words, one per line). */
public class Words {
  private static final String LETTER = "[\\p{L}\\p{M}\\p{N}_\\x{200C}\\x{200D}]";
  private static final Pattern WORD_OR_SYMBOL =
      Pattern.compile(LETTER + "+(?:'" + LETTER + "+)*|[^\\p{Z}\\p{Cc}]");
  private final Map<String, Integer> numbers = new HashMap<>();

  public Words(List<String> vocabulary) {
    for (String word : vocabulary) numbers.put(word, numbers.size());
  }

  /** The ids of a text, for "lowercase": true, "tokenizer": "words" and "split_words": false. */
  public int[] ids(String text) {
    text = text.replace('\0', ' ').toLowerCase(Locale.ROOT).replace('\u2019', '\'').replaceAll("(\\p{IsHan})", " $1 ");
    int[] ids = WORD_OR_SYMBOL.matcher(text).results().map(MatchResult::group)
        .mapToInt(word -> numbers.getOrDefault(word, 1)).toArray(); // 1: unknown word
    return ids.length == 0 ? new int[] {1} : ids;
  }

  public static void main(String[] arguments) throws Exception {
    Words words = new Words(Files.readAllLines(Path.of(arguments[0])));
    for (int i = 1; i < arguments.length; i++) {
      List<String> ids = new ArrayList<>();
      for (int id : words.ids(arguments[i])) ids.add(String.valueOf(id));
      System.out.println(String.join(" ", ids));
    }
  }
}
