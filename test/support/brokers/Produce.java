import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Sends a message in each compression of Kafka, and three in transactions, of which one is committed. */
public class Produce {
  public static void main(String[] arguments) throws Exception {
    String text = "otters hold hands ".repeat(300).substring(0, 5000);
    for (String codec : new String[] {"none", "gzip", "snappy", "lz4", "zstd"})
      try (var producer = producer(arguments[0], Map.of("compression.type", codec))) {
        producer.send(record(arguments[1], codec, text)).get();
      }
    try (var producer = producer(arguments[0], Map.of("transactional.id", "produce"))) {
      producer.initTransactions();
      for (String name : new String[] {"aborted", "committed", "aborted"}) {
        producer.beginTransaction();
        producer.send(record(arguments[1], name, text)).get();
        if (name.equals("aborted")) producer.abortTransaction();
        else producer.commitTransaction();
      }
    }
  }

  private static KafkaProducer<String, String> producer(String server, Map<String, Object> more) {
    var settings = new java.util.HashMap<String, Object>(more);
    settings.put("bootstrap.servers", server);
    settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
    settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
    return new KafkaProducer<>(settings);
  }

  private static ProducerRecord<String, String> record(String topic, String codec, String text) {
    String value = "{\"codec\": \"" + codec + "\", \"text\": \"" + text + "\"}";
    return new ProducerRecord<>(topic, 0, "key", value);
  }
}
