package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.webflux.RateLimitDenial.Reason;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** The answer to a denied request, in the form its client prefers; nothing in it comes from the request. */
final class ProblemDeniedHandler implements RateLimitDeniedHandler {

    private static final String PROBLEM_TYPES = "https://iana.org/assignments/http-problem-types#";

    private enum Form {
        PROBLEM(MediaType.APPLICATION_PROBLEM_JSON_VALUE),
        HTML("text/html;charset=UTF-8"),
        TEXT("text/plain;charset=UTF-8");

        private final String type;

        Form(String type) {
            this.type = type;
        }
    }

    /** All that a body depends on. */
    private record Kind(Form form, String rule, Reason reason, int status) {

        /** The one that is computed for records is slower than all else that is done with a body; so is their equals. */
        @Override
        public int hashCode() {
            return 31 * rule.hashCode() + status;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Kind kind
                    && form == kind.form
                    && reason == kind.reason
                    && status == kind.status
                    && rule.equals(kind.rule);
        }
    }

    private static final class Body {

        private final byte[] bytes;

        /** As a header says it. */
        private final String length;

        Body(String text) {
            this.bytes = text.getBytes(StandardCharsets.UTF_8);
            this.length = Integer.toString(bytes.length);
        }
    }

    /** As many as there are rules, reasons and forms. Each answer gets a copy: what becomes of it is its writer's. */
    private final Map<Kind, Body> bodies = new ConcurrentHashMap<>();

    @Override
    public Mono<Void> handle(ServerWebExchange exchange, RateLimitDenial denial) {
        Form form = form(exchange.getRequest().getHeaders());
        Body body = body(form, denial);
        ServerHttpResponse response = exchange.getResponse();
        HttpHeaders headers = response.getHeaders();
        headers.set(HttpHeaders.CONTENT_TYPE, form.type);
        headers.set(HttpHeaders.CONTENT_LENGTH, body.length);
        headers.add(HttpHeaders.VARY, HttpHeaders.ACCEPT);
        return response.writeWith(Mono.just(response.bufferFactory().wrap(body.bytes.clone())));
    }

    private Body body(Form form, RateLimitDenial denial) {
        Kind kind = new Kind(
                form, denial.rule().name(), denial.reason(), denial.status().value());
        Body known = bodies.get(kind);
        return known == null ? bodies.computeIfAbsent(kind, unknown -> new Body(text(form, denial))) : known;
    }

    /** A problem unless another form is liked better; also if none is: an answer that cannot be read is still understood by its status. */
    private static Form form(HttpHeaders request) {
        String first = request.getFirst(HttpHeaders.ACCEPT);
        if (first == null
                || (first.equals(MediaType.ALL_VALUE)
                        && request.getOrEmpty(HttpHeaders.ACCEPT).size() == 1)) {
            return Form.PROBLEM;
        }
        List<MediaType> accepted = accepted(request);
        double problem = Math.max(
                liking(MediaType.APPLICATION_PROBLEM_JSON, accepted), liking(MediaType.APPLICATION_JSON, accepted));
        double html = liking(MediaType.TEXT_HTML, accepted);
        double text = liking(MediaType.TEXT_PLAIN, accepted);
        if (problem >= html && problem >= text) {
            return Form.PROBLEM;
        }
        return html >= text ? Form.HTML : Form.TEXT;
    }

    private static List<MediaType> accepted(HttpHeaders request) {
        try {
            return request.getAccept();
        } catch (InvalidMediaTypeException unreadable) {
            return List.of();
        }
    }

    /** The quality of the most specific range that includes the type. */
    private static double liking(MediaType type, List<MediaType> accepted) {
        double quality = 0;
        int specific = -1;
        for (MediaType range : accepted) {
            int how = range.isWildcardType() ? 0 : range.isWildcardSubtype() ? 1 : 2;
            if (how > specific && range.includes(type)) {
                specific = how;
                quality = range.getQualityValue();
            }
        }
        return quality;
    }

    private static String text(Form form, RateLimitDenial denial) {
        if (form == Form.HTML) {
            String title = denial.status().value() + " " + phrase(denial);
            return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + title
                    + "</title></head><body><h1>" + title + "</h1><p>" + advice(denial) + "</p></body></html>\n";
        }
        return form == Form.TEXT
                ? denial.status().value() + " " + phrase(denial) + "\n" + advice(denial) + "\n"
                : problem(denial);
    }

    private static String problem(RateLimitDenial denial) {
        String violated = denial.reason() == Reason.LIMITED || denial.reason() == Reason.TOO_COSTLY
                ? ",\"violated-policies\":["
                        + RateLimitHeaders.quoted(denial.rule().name()) + "]"
                : "";
        return "{\"type\":\"" + type(denial.reason()) + "\",\"title\":\"" + phrase(denial) + "\",\"status\":"
                + denial.status().value() + ",\"detail\":\"" + advice(denial) + "\"" + violated + "}";
    }

    private static String type(Reason reason) {
        return switch (reason) {
            case LIMITED, TOO_COSTLY -> PROBLEM_TYPES + "quota-exceeded";
            case UNAVAILABLE -> PROBLEM_TYPES + "temporary-reduced-capacity";
            case MISSING_KEY -> "about:blank";
        };
    }

    private static String phrase(RateLimitDenial denial) {
        HttpStatus known = HttpStatus.resolve(denial.status().value());
        return known == null ? "Request denied" : known.getReasonPhrase();
    }

    private static String advice(RateLimitDenial denial) {
        return switch (denial.reason()) {
            case LIMITED -> "The limit is used up for now. Please try again later.";
            case TOO_COSTLY -> "The request is larger than its limit ever allows at once.";
            case UNAVAILABLE -> "The service has less capacity than usual. Please try again later.";
            case MISSING_KEY -> "The request does not say whom it is from.";
        };
    }
}
