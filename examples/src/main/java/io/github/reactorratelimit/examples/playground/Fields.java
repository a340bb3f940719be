package io.github.reactorratelimit.examples.playground;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads the fields of a JSON object that a page sent; what is missing, unknown or out of range is a {@link BadFieldException}. */
public final class Fields {

    private final Map<String, @Nullable Object> values;
    private final Set<String> read = new HashSet<>();

    /** Of a JSON object as Jackson reads it. */
    public Fields(Map<String, @Nullable Object> values) {
        this.values = values;
    }

    /** The whole number within bounds that is all there is in a JSON object. */
    public static int onlyInteger(Map<String, @Nullable Object> values, String name, int lowest, int highest) {
        Fields fields = new Fields(values);
        int number = fields.integer(name, lowest, highest);
        fields.nothingElse();
        return number;
    }

    /** A whole number within bounds, both of which it may be. */
    public int integer(String name, int lowest, int highest) {
        Object value = value(name);
        if (value instanceof Integer number && number >= lowest && number <= highest) {
            return number;
        }
        throw new BadFieldException(
                name, "must be a whole number from " + lowest + " to " + highest + ", was " + shown(value));
    }

    /** One of the names of an enum, as the page writes them: {@code TOKEN_BUCKET} is {@code token-bucket}. */
    public <E extends Enum<E>> E choice(String name, Class<E> type) {
        Object value = value(name);
        List<String> names = new ArrayList<>();
        for (E constant : type.getEnumConstants()) {
            String text = textOf(constant);
            if (text.equals(value)) {
                return constant;
            }
            names.add(text);
        }
        throw new BadFieldException(name, "must be one of " + String.join(", ", names) + ", was " + shown(value));
    }

    /** Refuses what nobody asked for: it is a mistake of the sender, who should hear of it. */
    public void nothingElse() {
        values.keySet().stream()
                .filter(name -> !read.contains(name))
                .findFirst()
                .ifPresent(name -> {
                    throw new BadFieldException(shown(name), "is not known");
                });
    }

    /** How a constant is written in JSON. */
    public static String textOf(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private @Nullable Object value(String name) {
        read.add(name);
        if (!values.containsKey(name)) {
            throw new BadFieldException(name, "is missing");
        }
        return values.get(name);
    }

    private static String shown(@Nullable Object value) {
        String text = String.valueOf(value);
        return text.length() <= 40 ? text : text.substring(0, 40) + "…";
    }
}
