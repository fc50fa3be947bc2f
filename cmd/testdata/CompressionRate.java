import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends the payloads of files as kafka-producer-perf-test does, which cannot send
 * bytes that are no text, and prints the producer's compression-rate-avg.
 *
 * Arguments: bootstrap server, delimiter of the files, then TOPIC FILE METHOD LEVEL
 * RECORDS for each run; a level of "default" is none. The first run on a topic is
 * made twice and only the second counts: the client must first learn how well
 * batches of the topic compress, and sends smaller ones until then.
 */
public class CompressionRate {
    static final Set<String> TOPICS = new HashSet<>();

    public static void main(String[] args) throws Exception {
        for (int i = 2; i < args.length; i += 5) {
            Properties config = new Properties();
            config.put("bootstrap.servers", args[0]);
            String topic = args[i], method = args[i + 2], level = args[i + 3];
            byte[][] payloads = payloads(args[i + 1], args[1]);
            int records = Integer.parseInt(args[i + 4]);
            boolean unknown = TOPICS.add(topic);
            if (unknown) {
                try (Admin admin = Admin.create(config)) {
                    admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
                }
            }
            config.put("compression.type", method);
            config.put("linger.ms", "100"); // a busy machine sends no shorter batches
            if (!level.equals("default"))
                config.put("compression." + method + ".level", level);
            if (unknown)
                send(config, topic, payloads, records);
            System.out.println(send(config, topic, payloads, records));
        }
    }

    static byte[][] payloads(String file, String delimiter) throws Exception {
        String all = Files.readString(Path.of(file), StandardCharsets.ISO_8859_1);
        String[] parts = all.split(java.util.regex.Pattern.quote(delimiter));
        byte[][] payloads = new byte[parts.length][];
        for (int i = 0; i < parts.length; i++)
            payloads[i] = parts[i].getBytes(StandardCharsets.ISO_8859_1);
        return payloads;
    }

    static double send(Properties config, String topic, byte[][] payloads, int records) {
        Random random = new Random(0);
        var bytes = new ByteArraySerializer();
        try (var producer = new KafkaProducer<>(config, bytes, bytes)) {
            for (int i = 0; i < records; i++)
                producer.send(new ProducerRecord<>(topic, payloads[random.nextInt(payloads.length)]));
            producer.flush();
            return producer.metrics().values().stream()
                .filter(m -> m.metricName().name().equals("compression-rate-avg"))
                .mapToDouble(m -> (Double) m.metricValue()).findFirst().orElseThrow();
        }
    }
}
