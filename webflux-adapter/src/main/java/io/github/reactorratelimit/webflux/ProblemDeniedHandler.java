package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.webflux.RateLimitDenial.Reason;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** The response to a denied request, in the form its client prefers; nothing in it comes from the request. */
final class ProblemDeniedHandler implements RateLimitDeniedHandler {

    private static final String PROBLEM_TYPES = "https://iana.org/assignments/http-problem-types#";
    private static final String PROBLEM = MediaType.APPLICATION_PROBLEM_JSON_VALUE;
    private static final String HTML = "text/html;charset=UTF-8";
    private static final String TEXT = "text/plain;charset=UTF-8";

    /** As many as there are rules, reasons and forms. Each response gets a copy, because its writer owns it. */
    private final Map<String, byte[]> bodies = new ConcurrentHashMap<>();

    @Override
    public Mono<Void> handle(ServerWebExchange exchange, RateLimitDenial denial) {
        String form = form(exchange.getRequest().getHeaders());
        String kind =
                form + denial.reason() + denial.status().value() + denial.rule().name();
        byte[] body = bodies.get(kind);
        if (body == null) {
            body = text(form, denial).getBytes(StandardCharsets.UTF_8);
            bodies.put(kind, body);
        }
        ServerHttpResponse response = exchange.getResponse();
        HttpHeaders headers = response.getHeaders();
        headers.set(HttpHeaders.CONTENT_TYPE, form);
        headers.set(HttpHeaders.CONTENT_LENGTH, Integer.toString(body.length));
        headers.add(HttpHeaders.VARY, HttpHeaders.ACCEPT);
        return response.writeWith(Mono.just(response.bufferFactory().wrap(body.clone())));
    }

    /** A problem unless the client prefers another form: even unread, the status of a response is understood. */
    private static String form(HttpHeaders request) {
        List<String> sent = request.getOrEmpty(HttpHeaders.ACCEPT);
        if (sent.isEmpty() || (sent.size() == 1 && sent.get(0).equals(MediaType.ALL_VALUE))) {
            return PROBLEM;
        }
        List<MediaType> accepted;
        try {
            accepted = request.getAccept();
        } catch (InvalidMediaTypeException malformed) {
            return PROBLEM;
        }
        double problem = Math.max(
                quality(MediaType.APPLICATION_PROBLEM_JSON, accepted), quality(MediaType.APPLICATION_JSON, accepted));
        double html = quality(MediaType.TEXT_HTML, accepted);
        double text = quality(MediaType.TEXT_PLAIN, accepted);
        if (problem >= html && problem >= text) {
            return PROBLEM;
        }
        return html >= text ? HTML : TEXT;
    }

    /** The quality of the most specific range that includes the type. */
    private static double quality(MediaType type, List<MediaType> accepted) {
        double quality = 0;
        int highest = -1;
        for (MediaType range : accepted) {
            int specificity = range.isWildcardType() ? 0 : range.isWildcardSubtype() ? 1 : 2;
            if (specificity > highest && range.includes(type)) {
                highest = specificity;
                quality = range.getQualityValue();
            }
        }
        return quality;
    }

    private static String text(String form, RateLimitDenial denial) {
        HttpStatus known = HttpStatus.resolve(denial.status().value());
        String phrase = known == null ? "Request denied" : known.getReasonPhrase();
        String title = denial.status().value() + " " + phrase;
        String advice = advice(denial.reason());
        return switch (form) {
            case HTML ->
                "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + title
                        + "</title></head><body><h1>" + title + "</h1><p>" + advice + "</p></body></html>\n";
            case TEXT -> title + "\n" + advice + "\n";
            default ->
                "{\"type\":\"" + type(denial.reason()) + "\",\"title\":\"" + phrase + "\",\"status\":"
                        + denial.status().value() + ",\"detail\":\"" + advice + "\"" + violatedPolicies(denial) + "}";
        };
    }

    private static String violatedPolicies(RateLimitDenial denial) {
        return denial.reason() == Reason.LIMITED || denial.reason() == Reason.TOO_COSTLY
                ? ",\"violated-policies\":["
                        + RateLimitHeaderWriter.quoted(denial.rule().name()) + "]"
                : "";
    }

    private static String type(Reason reason) {
        return switch (reason) {
            case LIMITED, TOO_COSTLY -> PROBLEM_TYPES + "quota-exceeded";
            case UNAVAILABLE -> PROBLEM_TYPES + "temporary-reduced-capacity";
            case MISSING_KEY -> "about:blank";
        };
    }

    private static String advice(Reason reason) {
        return switch (reason) {
            case LIMITED -> "The limit is used up for now. Please try again later.";
            case TOO_COSTLY -> "The request is larger than its limit ever allows at once.";
            case UNAVAILABLE -> "The service has less capacity than usual. Please try again later.";
            case MISSING_KEY -> "The request does not say whom it is from.";
        };
    }
}
