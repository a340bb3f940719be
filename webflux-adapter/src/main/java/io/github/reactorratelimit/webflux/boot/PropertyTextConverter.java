package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.StatusSet;
import io.github.reactorratelimit.webflux.key.Cidr;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.core.convert.ConversionFailedException;
import org.springframework.core.convert.TypeDescriptor;
import org.springframework.core.convert.converter.GenericConverter;

/** Reads what is written in a few words. YAML takes {@code 401} for a number, so texts and numbers are the same here. */
final class PropertyTextConverter implements GenericConverter {

    private static final Map<Class<?>, Function<String, ?>> PARSERS = Map.of(
            Rate.class, Rate::parse,
            LimitKey.class, LimitKey::parse,
            StatusSet.class, StatusSet::parse,
            Cidr.class, text -> Cidr.parse(text.strip()));

    @Override
    public Set<ConvertiblePair> getConvertibleTypes() {
        return PARSERS.keySet().stream()
                .flatMap(target -> List.of(String.class, Integer.class, Long.class).stream()
                        .map(source -> new ConvertiblePair(source, target)))
                .collect(Collectors.toUnmodifiableSet());
    }

    @Override
    public @Nullable Object convert(@Nullable Object source, TypeDescriptor sourceType, TypeDescriptor targetType) {
        Function<String, ?> parser = Objects.requireNonNull(PARSERS.get(targetType.getType()));
        return source == null ? null : parser.apply(source.toString());
    }

    /** What one of our parsers said about a value; null if it was none of ours. */
    static @Nullable String reasonOf(ConversionFailedException failed) {
        return PARSERS.containsKey(failed.getTargetType().getType()) && failed.getCause() != null
                ? failed.getCause().getMessage()
                : null;
    }
}
