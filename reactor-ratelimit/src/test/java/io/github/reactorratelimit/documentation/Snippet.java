package io.github.reactorratelimit.documentation;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A code block of a Markdown file.
 *
 * @param file the file's name
 * @param firstLine the number of the block's first line in the file
 * @param language what the fence says
 * @param lines its text
 */
public record Snippet(String file, int firstLine, String language, List<String> lines) {

    private static final Pattern TYPE = Pattern.compile("^((public|final|abstract) )*(class|interface|record|enum) .*");
    private static final Pattern MEMBER = Pattern.compile("^(@|public |private |protected |static ).*");

    /** Every fenced block of a file; one in a list is indented with it. */
    public static List<Snippet> in(String file, List<String> text) {
        List<Snippet> found = new ArrayList<>();
        int fence = -1;
        for (int i = 0; i < text.size(); i++) {
            if (!text.get(i).stripLeading().startsWith("```")) {
                continue;
            }
            if (fence < 0) {
                fence = i;
            } else {
                found.add(between(file, text, fence, i));
                fence = -1;
            }
        }
        if (fence >= 0) {
            throw new IllegalArgumentException(file + ":" + (fence + 1) + ": the code block has no end");
        }
        return found;
    }

    private static Snippet between(String file, List<String> text, int opening, int closing) {
        int indent = text.get(opening).indexOf('`');
        String language = text.get(opening).substring(indent + 3).strip();
        List<String> lines = text.subList(opening + 1, closing).stream()
                .map(line -> line.isBlank() ? "" : line.substring(indent))
                .toList();
        return new Snippet(file, opening + 2, language, lines);
    }

    public boolean isJava() {
        return language.equals("java");
    }

    String className() {
        return "Snippet_" + file.replaceAll("\\W", "_") + "_" + firstLine;
    }

    @Override
    public String toString() {
        return file + ":" + firstLine;
    }

    /**
     * The block as a compilation unit in which every line has the number it has in the file. Types stand by
     * themselves, members in a class, statements in the method {@code run} of a class.
     *
     * @param imports of every snippet
     * @param prelude the class whose members it may use
     * @param after statements to run after those of the block
     */
    String asSource(String imports, String prelude, String after) {
        String head = imports + own(true).stream().collect(Collectors.joining(" "));
        String padding = "\n".repeat(firstLine - 1);
        String body = String.join("\n", own(false));
        if (lines.stream().anyMatch(line -> TYPE.matcher(line).matches())) {
            return head + padding + body;
        }
        String type = " class " + className() + " extends " + prelude + " { ";
        if (lines.stream().anyMatch(line -> MEMBER.matcher(line).matches())) {
            return head + type + padding + body + "\n}";
        }
        return head + type + "Object run() throws Exception { " + padding + body + "\n" + after + "}}";
    }

    private List<String> own(boolean imports) {
        return lines.stream()
                .map(line -> line.startsWith("import ") == imports ? line : "")
                .toList();
    }
}
